//! Cases of the rule set `package-caches`. The parent module describes the notation.

pub(super) const CASES: &str = r"
pip.cache
+ {cache}/pip/http-v2/0/a
+ {local}/pip/Cache/wheels/a
- {cache}/pip-tools/a
- {local}/pip/pip.ini
- {cache}/other/pip/a
uv.cache
+ {cache}/uv/wheels-v5/a
+ {home}/.cache/uv/archive-v0/a
+ {local}/uv/cache/a
- {cache}/uv/CACHEDIR.TAG
- {local}/uv/tools/a
- {cache}/uvicorn/a
poetry.cache
+ {cache}/pypoetry/artifacts/a
+ {local}/pypoetry/Cache/cache/a
- {cache}/pypoetry/virtualenvs/app/bin/python
- {cache}/artifacts/a
conda.archives
+ {home}/miniconda3/pkgs/a-1.0-0.conda
- {home}/miniconda3/pkgs/a-1.0-0/bin/a
- {home}/miniconda3/envs/e/a.conda
- {home}/pkgs/a-1.0-0.conda
npm.cache
+ {home}/.npm/_cacache/content-v2/a
+ {local}/npm-cache/_cacache/a
+ {home}/.npm/_logs/a.log
- {home}/.npmrc
- {home}/.npm/mine/a
- {local}/npm-cache/a
yarn.cache
+ {cache}/yarn/v6/a
+ {local}/Yarn/Cache/v6/a
+ {home}/.yarn/berry/cache/a.zip
- {local}/Yarn/Data/global/a
- {home}/.yarn/bin/yarn
- {cache}/yarn.bak/a
pnpm.store
+ {data}/pnpm/store/v10/files/a
+ {home}/.pnpm-store/v3/a
- {data}/pnpm/global/5/a
- {home}/pnpm-store/v3/a
- {data}/pnpm/a
pnpm.metadata
+ {cache}/pnpm/metadata/a.json
- {cache}/pnpm.json
- {cache}/other/pnpm/a
bun.cache
+ {home}/.bun/install/cache/a
- {home}/.bun/install/global/a
- {home}/.bun/bin/bun
deno.cache
+ {cache}/deno/deps/https/a
+ {local}/deno/gen/a
- {cache}/deno/location_data/0a/local_storage
- {cache}/denox/a
node-gyp.headers
+ {cache}/node-gyp/20.0.0/include/a.h
- {cache}/node-gyp-notes.txt
- {local}/node-gyp/a
playwright.browsers
+ {cache}/ms-playwright/chromium-1000/chrome
- {cache}/ms-playwright-mine/a
- {cache}/playwright/a
cypress.binaries
+ {cache}/Cypress/13.0.0/Cypress/a
- {cache}/Cypress.txt
- {config}/Cypress/a
electron.downloads
+ {cache}/electron/0a1b/electron.zip
- {cache}/electron-app/a
- {local}/electron/a
cargo.registry
+ {home}/.cargo/registry/cache/index/a-1.0.0.crate
+ {home}/.cargo/registry/src/index/a-1.0.0/lib.rs
- {home}/.cargo/registry/index/a
- {home}/.cargo/bin/tool
- {home}/.cargo/git/db/a
- {home}/.cargo/credentials.toml
rustup.downloads
+ {home}/.rustup/downloads/a.partial
+ {home}/.rustup/tmp/a
- {home}/.rustup/toolchains/stable/bin/rustc
- {home}/.rustup/settings.toml
compiler.caches
+ {cache}/ccache/0/a
+ {home}/.ccache/0/a
+ {local}/Mozilla/sccache/cache/a
- {home}/.ccache/ccache.conf
- {cache}/ccache.conf
- {local}/Mozilla/sccache/a
gradle.caches
+ {home}/.gradle/caches/modules-2/a.jar
+ {home}/.gradle/wrapper/dists/gradle-8/a
- {home}/.gradle/gradle.properties
- {home}/.gradle/init.d/a.gradle
- {home}/gradle/caches/a
maven.repository
+ {home}/.m2/repository/org/example/a.jar
- {home}/.m2/settings.xml
- {home}/.m2/repository.txt
ivy.cache
+ {home}/.ivy2/cache/org/a.jar
- {home}/.ivy2/local/org/a.jar
- {home}/.ivy2/.credentials
coursier.cache
+ {cache}/coursier/v1/https/a.jar
- {data}/coursier/bin/a
- {cache}/coursier-notes/a
nuget.packages
+ {home}/.nuget/packages/a/1.0.0/a.nupkg
- {home}/.nuget/NuGet/NuGet.Config
- {home}/nuget/packages/a
nuget.cache
+ {home}/.local/share/NuGet/v3-cache/a.dat
+ {local}/NuGet/v3-cache/a.dat
- {local}/NuGet/packages/a
- {local}/NuGet.dat
go.modules
+ {home}/go/pkg/mod/cache/download/a.zip
- {home}/go/pkg/mod/example.org/a@v1.0.0/a.go
- {home}/go/bin/a
- {home}/go/src/a.go
go.build
+ {cache}/go-build/00/a-d
- {cache}/go-builder/a
- {cache}/go/a
composer.cache
+ {cache}/composer/files/a.zip
+ {home}/.composer/cache/files/a.zip
- {home}/.composer/vendor/bin/a
- {home}/.composer/auth.json
bundler.cache
+ {home}/.bundle/cache/compact_index/a
- {home}/.bundle/config
- {home}/.bundle/plugin/a
cocoapods.cache
+ {cache}/CocoaPods/Pods/a
- {cache}/CocoaPods.txt
- {home}/.cocoapods/repos/a
dart.pub-cache
+ {home}/.pub-cache/hosted/pub.dev/a/a.dart
- {home}/.pub-cache/bin/a
- {home}/.pub-cache/global_packages/a
hex.packages
+ {home}/.hex/packages/hexpm/a.tar
- {home}/.hex/hex.config
- {home}/.hex/a.tar
cabal.packages
+ {home}/.cabal/packages/hackage/a.tar.gz
- {home}/.cabal/config
- {home}/.cabal/bin/a
homebrew.downloads
+ {cache}/Homebrew/downloads/a.tar.gz
- {cache}/Homebrew.log
- {library}/Homebrew/a
scoop.downloads
+ {home}/scoop/cache/a#1.0#url.zip
- {home}/scoop/apps/a/current/a.exe
- {home}/scoop/persist/a
- {home}/cache/a
apt.archives
+ {root}/var/cache/apt/archives/a_1.0_amd64.deb
- {root}/var/cache/apt/archives/lock
- {root}/var/cache/apt/archives/sub/a.deb
- {root}/var/cache/apt/a.deb
apt.index
+ {root}/var/cache/apt/pkgcache.bin
- {root}/var/cache/apt/notes.bin
- {root}/var/cache/pkgcache.bin
dnf.cache
+ {root}/var/cache/dnf/fedora/packages/a.rpm
+ {root}/var/cache/libdnf5/a
- {root}/var/lib/dnf/history.sqlite
- {root}/var/cache/dnf5x/a
pacman.packages
+ {root}/var/cache/pacman/pkg/a-1.0-1-x86_64.pkg.tar.zst
- {root}/var/lib/pacman/local/a/desc
- {root}/var/cache/pacman/pkg/notes.txt
- {root}/var/cache/pacman/a-1.0-1-x86_64.pkg.tar.zst
zypper.packages
+ {root}/var/cache/zypp/packages/repo/a.rpm
- {root}/var/cache/zypp/solv/a
- {root}/var/cache/packages/a.rpm
apk.packages
+ {root}/var/cache/apk/a-1.0.apk
- {root}/var/cache/apk/notes.txt
- {root}/var/cache/apk/sub/a-1.0.apk
snapd.cache
+ {root}/var/lib/snapd/cache/0a1b
- {root}/var/lib/snapd/snaps/a_1.snap
- {root}/var/lib/snapd/state.json
- {root}/var/lib/snapd/cache/sub/0a1b
flatpak.app-caches
+ {home}/.var/app/org.example.App/cache/a
- {home}/.var/app/org.example.App/data/a
- {home}/.var/app/cache
- {home}/.var/cache/a
flatpak.downloads
+ {root}/var/tmp/flatpak-cache-0A1B2C/objects/a
- {root}/var/tmp/flatpak-caches
- {root}/var/tmp/other/a
";
