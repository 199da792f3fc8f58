//! Cases of the rule set `build-dirs`. The parent module describes the notation.

pub(super) const CASES: &str = r"
cargo.target
. {home}/p/Cargo.toml
. {home}/p/target/.rustc_info.json
. {home}/r/Cargo.toml
+ {home}/p/target/x
- {home}/q/target/.rustc_info.json
- {home}/r/target/x
- {home}/p/target.bak/.rustc_info.json
- {home}/p/sub/target/.rustc_info.json
maven.target
. {home}/p/pom.xml
. {home}/p/target/classes/A.class
. {home}/r/pom.xml
+ {home}/p/target/x
- {home}/q/target/classes/A.class
- {home}/r/target/x
- {home}/p/target.bak/classes/A.class
- {home}/p/sub/target/classes/A.class
sbt.target
. {home}/p/build.sbt
. {home}/p/target/streams/x
. {home}/r/build.sbt
+ {home}/p/target/x
- {home}/q/target/streams/x
- {home}/r/target/x
- {home}/p/target.bak/streams/x
- {home}/p/sub/target/streams/x
gradle.build
. {home}/p/build.gradle.kts
. {home}/p/build/classes/A.class
. {home}/r/build.gradle.kts
+ {home}/p/build/x
- {home}/q/build/classes/A.class
- {home}/r/build/x
- {home}/p/build.bak/classes/A.class
- {home}/p/sub/build/classes/A.class
gradle.project-cache
. {home}/p/settings.gradle
+ {home}/p/.gradle/x
- {home}/q/.gradle/x
- {home}/p/.gradle.bak/x
- {home}/p/sub/.gradle/x
android.native-build
. {home}/p/build.gradle
+ {home}/p/.cxx/x
- {home}/q/.cxx/x
- {home}/p/.cxx.bak/x
- {home}/p/sub/.cxx/x
node.modules
. {root}/usr/lib/npm/package.json
. {root}/usr/lib/npm/node_modules/.package-lock.json
. {local}/Programs/App/package.json
. {local}/Programs/App/node_modules/.package-lock.json
. {home}/p/package.json
. {home}/p/node_modules/.package-lock.json
. {home}/r/package.json
+ {home}/p/node_modules/x
- {home}/q/node_modules/.package-lock.json
- {home}/r/node_modules/x
- {home}/p/node_modules.bak/.package-lock.json
- {home}/p/sub/node_modules/.package-lock.json
- {root}/usr/lib/npm/node_modules/a.js
- {roaming}/npm/node_modules/a.js
- {local}/Programs/App/node_modules/a.js
node.unproven-modules
. {home}/p/package.json
. {root}/usr/lib/npm/package.json
+ {home}/p/node_modules/a/index.js
- {home}/q/node_modules/a/index.js
- {home}/p/node_modules.bak/a/index.js
- {home}/p/sub/node_modules/a/index.js
- {root}/usr/lib/npm/node_modules/a/index.js
bun.modules
. {home}/p/bun.lock
+ {home}/p/node_modules/x
- {home}/q/node_modules/x
- {home}/p/node_modules.bak/x
- {home}/p/sub/node_modules/x
next.build
. {home}/p/next.config.js
. {home}/p/.next/BUILD_ID
. {home}/r/next.config.js
+ {home}/p/.next/x
- {home}/q/.next/BUILD_ID
- {home}/r/.next/x
- {home}/p/.next.bak/BUILD_ID
- {home}/p/sub/.next/BUILD_ID
nuxt.build
. {home}/p/nuxt.config.ts
+ {home}/p/.nuxt/x
- {home}/q/.nuxt/x
- {home}/p/.nuxt.bak/x
- {home}/p/sub/.nuxt/x
svelte.build
. {home}/p/svelte.config.js
+ {home}/p/.svelte-kit/x
- {home}/q/.svelte-kit/x
- {home}/p/.svelte-kit.bak/x
- {home}/p/sub/.svelte-kit/x
angular.cache
. {home}/p/angular.json
. {home}/p/.angular/cache/x
. {home}/r/angular.json
+ {home}/p/.angular/x
- {home}/q/.angular/cache/x
- {home}/r/.angular/x
- {home}/p/.angular.bak/cache/x
- {home}/p/sub/.angular/cache/x
parcel.cache
. {home}/p/package.json
+ {home}/p/.parcel-cache/x
- {home}/q/.parcel-cache/x
- {home}/p/.parcel-cache.bak/x
- {home}/p/sub/.parcel-cache/x
turbo.cache
. {home}/p/turbo.json
+ {home}/p/.turbo/x
- {home}/q/.turbo/x
- {home}/p/.turbo.bak/x
- {home}/p/sub/.turbo/x
python.venv
. {root}/opt/app/venv/pyvenv.cfg
. {home}/p/.venv/pyvenv.cfg
+ {home}/p/.venv/x
- {home}/r/.venv/x
- {home}/p/.venv.bak/pyvenv.cfg
- {root}/opt/app/venv/bin/python
python.bytecode
. {home}/p/__pycache__/a.cpython-312.pyc
+ {home}/p/__pycache__/x
- {home}/r/__pycache__/x
- {home}/p/__pycache__.bak/a.cpython-312.pyc
python.tool-caches
. {home}/p/.pytest_cache/CACHEDIR.TAG = tag
+ {home}/p/.pytest_cache/x
- {home}/r/.pytest_cache/x
- {home}/p/.pytest_cache.bak/CACHEDIR.TAG = tag
python.tox
. {home}/p/tox.ini
+ {home}/p/.tox/x
- {home}/q/.tox/x
- {home}/p/.tox.bak/x
- {home}/p/sub/.tox/x
python.nox
. {home}/p/noxfile.py
+ {home}/p/.nox/x
- {home}/q/.nox/x
- {home}/p/.nox.bak/x
- {home}/p/sub/.nox/x
python.build
. {home}/p/setup.py
. {home}/p/build/lib/a.py
. {home}/r/setup.py
+ {home}/p/build/x
- {home}/q/build/lib/a.py
- {home}/r/build/x
- {home}/p/build.bak/lib/a.py
- {home}/p/sub/build/lib/a.py
haskell.stack
. {home}/p/stack.yaml
+ {home}/p/.stack-work/x
- {home}/q/.stack-work/x
- {home}/p/.stack-work.bak/x
- {home}/p/sub/.stack-work/x
haskell.cabal
. {home}/p/a.cabal
+ {home}/p/dist-newstyle/x
- {home}/q/dist-newstyle/x
- {home}/p/dist-newstyle.bak/x
- {home}/p/sub/dist-newstyle/x
elixir.build
. {home}/p/mix.exs
. {home}/p/_build/dev/x
. {home}/r/mix.exs
+ {home}/p/_build/x
- {home}/q/_build/dev/x
- {home}/r/_build/x
- {home}/p/_build.bak/dev/x
- {home}/p/sub/_build/dev/x
elixir.deps
. {home}/p/mix.lock
+ {home}/p/deps/x
- {home}/q/deps/x
- {home}/p/deps.bak/x
- {home}/p/sub/deps/x
erlang.build
. {home}/p/rebar.config
. {home}/p/_build/default/x
. {home}/r/rebar.config
+ {home}/p/_build/x
- {home}/q/_build/default/x
- {home}/r/_build/x
- {home}/p/_build.bak/default/x
- {home}/p/sub/_build/default/x
ocaml.build
. {home}/p/dune-project
. {home}/p/_build/log
. {home}/r/dune-project
+ {home}/p/_build/x
- {home}/q/_build/log
- {home}/r/_build/x
- {home}/p/_build.bak/log
- {home}/p/sub/_build/log
elm.packages
. {home}/p/elm.json
+ {home}/p/elm-stuff/x
- {home}/q/elm-stuff/x
- {home}/p/elm-stuff.bak/x
- {home}/p/sub/elm-stuff/x
dotnet.obj
. {home}/p/App.csproj
. {home}/p/obj/project.assets.json
. {home}/r/App.csproj
+ {home}/p/obj/x
- {home}/q/obj/project.assets.json
- {home}/r/obj/x
- {home}/p/obj.bak/project.assets.json
- {home}/p/sub/obj/project.assets.json
dotnet.bin
. {home}/p/App.csproj
. {home}/p/bin/Debug/App.dll
. {home}/r/App.csproj
+ {home}/p/bin/x
- {home}/q/bin/Debug/App.dll
- {home}/r/bin/x
- {home}/p/bin.bak/Debug/App.dll
- {home}/p/sub/bin/Debug/App.dll
terraform.downloads
. {home}/p/main.tf
. {home}/p/.terraform/providers/x
. {home}/r/main.tf
+ {home}/p/.terraform/x
- {home}/q/.terraform/providers/x
- {home}/r/.terraform/x
- {home}/p/.terraform.bak/providers/x
- {home}/p/sub/.terraform/providers/x
- {home}/p/.terraform/environment
xcode.project-derived-data
. {home}/p/App.xcodeproj/project.pbxproj
+ {home}/p/DerivedData/x
- {home}/q/DerivedData/x
- {home}/p/DerivedData.bak/x
- {home}/p/sub/DerivedData/x
swift.build
. {home}/p/Package.swift
+ {home}/p/.build/x
- {home}/q/.build/x
- {home}/p/.build.bak/x
- {home}/p/sub/.build/x
cocoapods.pods
. {home}/p/Podfile.lock
. {home}/p/Pods/Manifest.lock
. {home}/r/Podfile.lock
+ {home}/p/Pods/x
- {home}/q/Pods/Manifest.lock
- {home}/r/Pods/x
- {home}/p/Pods.bak/Manifest.lock
- {home}/p/sub/Pods/Manifest.lock
unity.library
. {home}/p/ProjectSettings/ProjectVersion.txt
. {home}/p/Library/ArtifactDB
. {home}/r/ProjectSettings/ProjectVersion.txt
+ {home}/p/Library/x
- {home}/q/Library/ArtifactDB
- {home}/r/Library/x
- {home}/p/Library.bak/ArtifactDB
- {home}/p/sub/Library/ArtifactDB
unity.temp
. {home}/p/ProjectSettings/ProjectVersion.txt
+ {home}/p/Temp/x
- {home}/q/Temp/x
- {home}/p/Temp.bak/x
- {home}/p/sub/Temp/x
unreal.build
. {home}/p/Game.uproject
+ {home}/p/Intermediate/x
- {home}/q/Intermediate/x
- {home}/p/Intermediate.bak/x
- {home}/p/sub/Intermediate/x
godot.cache
. {home}/p/project.godot
+ {home}/p/.godot/x
- {home}/q/.godot/x
- {home}/p/.godot.bak/x
- {home}/p/sub/.godot/x
composer.vendor
. {home}/p/composer.lock
. {home}/p/vendor/autoload.php
. {home}/r/composer.lock
+ {home}/p/vendor/x
- {home}/q/vendor/autoload.php
- {home}/r/vendor/x
- {home}/p/vendor.bak/autoload.php
- {home}/p/sub/vendor/autoload.php
bundler.vendor
. {home}/p/vendor/bundle/ruby/x
+ {home}/p/vendor/bundle/x
- {home}/r/vendor/bundle/x
- {home}/p/vendor/bundle.bak/ruby/x
dart.tool
. {home}/p/pubspec.yaml
+ {home}/p/.dart_tool/x
- {home}/q/.dart_tool/x
- {home}/p/.dart_tool.bak/x
- {home}/p/sub/.dart_tool/x
flutter.build
. {home}/p/pubspec.yaml
. {home}/p/build/flutter_assets/x
. {home}/r/pubspec.yaml
+ {home}/p/build/x
- {home}/q/build/flutter_assets/x
- {home}/r/build/x
- {home}/p/build.bak/flutter_assets/x
- {home}/p/sub/build/flutter_assets/x
cmake.build
. {home}/p/CMakeLists.txt
. {home}/p/build/CMakeCache.txt
. {home}/r/CMakeLists.txt
+ {home}/p/build/x
- {home}/q/build/CMakeCache.txt
- {home}/r/build/x
- {home}/p/build.bak/CMakeCache.txt
- {home}/p/sub/build/CMakeCache.txt
meson.build
. {home}/p/meson.build
. {home}/p/builddir/meson-private/x
. {home}/r/meson.build
+ {home}/p/builddir/x
- {home}/q/builddir/meson-private/x
- {home}/r/builddir/x
- {home}/p/builddir.bak/meson-private/x
- {home}/p/sub/builddir/meson-private/x
zig.build
. {home}/p/build.zig
+ {home}/p/.zig-cache/x
- {home}/q/.zig-cache/x
- {home}/p/.zig-cache.bak/x
- {home}/p/sub/.zig-cache/x
jekyll.cache
. {home}/p/_config.yml
. {home}/p/.jekyll-cache/Jekyll/x
. {home}/r/_config.yml
+ {home}/p/.jekyll-cache/x
- {home}/q/.jekyll-cache/Jekyll/x
- {home}/r/.jekyll-cache/x
- {home}/p/.jekyll-cache.bak/Jekyll/x
- {home}/p/sub/.jekyll-cache/Jekyll/x
";
