//! The table of all programs with their command lines.
//!
//! A change of a command line changes what a race compares. It MUST do the same work as the others.

use crate::record::Role;
use crate::scenario::Work;

use super::{Answer, Entrant, Source};

const fn peer(
    name: &'static str,
    work: Work,
    source: Source,
    command: &'static str,
    answer: Answer,
) -> Entrant {
    let version = "--version";
    Entrant { name, role: Role::Peer, work, source, command, remembers: false, version, answer }
}

/// Returns an entry for lop with a catalog, a feature that its peers lack.
const fn lop(name: &'static str, command: &'static str, remembers: bool) -> Entrant {
    let plain = peer(name, Work::Find, Source::Here, command, Answer::Lines);
    Entrant { role: Role::Aside, remembers, ..plain }
}

/// Returns an entry for lop that finds duplicates and acts on them.
const fn lop_acts(name: &'static str, role: Role, command: &'static str) -> Entrant {
    Entrant { role, ..peer(name, Work::Link, Source::Here, command, Answer::None) }
}

/// Returns an entry for lop that copies.
const fn lop_copies(work: Work, command: &'static str) -> Entrant {
    Entrant { role: Role::Ours, ..peer("lop", work, Source::Here, command, Answer::None) }
}

use Answer::{Czkawka, Lines, None as Nothing, Rdfind};
use Source::{Crate, Debian, Python};
use Work::{
    Again, Anywhere, Apply, Copy, Delete, Find, Fleet, Link, Load, Mirror, Pull, Push, Serve,
    Space, Sweep, Throttle,
};

/// All programs. Each program must be installable with one command.
pub(crate) const ENTRANTS: [Entrant; 76] = [
    Entrant {
        role: Role::Ours,
        ..lop("lop", "lop scan --no-catalog -q --format fdupes DIR", false)
    },
    lop("lop, new catalog", "lop scan --catalog FILE -q --format fdupes DIR", false),
    lop("lop, again", "lop scan --catalog FILE -q --format fdupes DIR", true),
    Entrant {
        role: Role::Aside,
        ..peer(BARE_SCAN, Find, Source::Here, "lop-bench bare-scan DIR LIST", Nothing)
    },
    peer(
        "fclones",
        Find,
        Crate("fclones"),
        "fclones --progress=false group --hidden --no-ignore -f fdupes DIR",
        Lines,
    ),
    peer("yadf", Find, Crate("yadf"), "yadf -q -n DIR", Lines),
    peer(
        "czkawka",
        Find,
        Crate("czkawka_cli"),
        "czkawka_cli dup -d DIR -m 1 -H -W -N -M -C FILE",
        Czkawka,
    ),
    peer("jdupes", Find, Debian("jdupes"), "jdupes -r -q DIR", Lines),
    peer(
        "rmlint",
        Find,
        Debian("rmlint"),
        "rmlint -T df -r -L -F -VVV -o fdupes:stdout DIR",
        Lines,
    ),
    peer("rdfind", Find, Debian("rdfind"), "rdfind -outputname FILE DIR", Rdfind),
    peer("fdupes", Find, Debian("fdupes"), "fdupes -r -n -q DIR", Lines),
    Entrant {
        version: "-v",
        ..peer("duff", Find, Debian("duff"), "duff -r -a -p -z -q DIR", Lines)
    },
    lop_acts(
        "lop",
        Role::Ours,
        "lop scan -q --catalog FILE DIR && lop dedupe -q --catalog FILE --by hardlink --apply",
    ),
    lop_acts(
        "lop, quarantine",
        Role::Aside,
        "lop scan -q --catalog FILE DIR && lop dedupe -q --catalog FILE --by quarantine --apply --all",
    ),
    peer("jdupes", Link, Debian("jdupes"), "jdupes -r -q -L DIR", Nothing),
    peer(
        "rdfind",
        Link,
        Debian("rdfind"),
        "rdfind -makehardlinks true -outputname FILE DIR",
        Nothing,
    ),
    peer(
        "fclones",
        Link,
        Crate("fclones"),
        "fclones -q group --hidden --no-ignore -o FILE DIR && fclones -q link < FILE",
        Nothing,
    ),
    lop_copies(Mirror, "lop mirror -q SRC DST"),
    peer("rsync", Mirror, Debian("rsync"), "rsync -aHAXS SRC/ DST/", Nothing),
    peer("cp", Mirror, Debian("coreutils"), "cp -a -T SRC DST", Nothing),
    lop_copies(Copy, "lop mirror -q SRC DST"),
    peer("rsync", Copy, Debian("rsync"), "rsync -aHAXS SRC/ DST/", Nothing),
    peer("cp", Copy, Debian("coreutils"), "cp -a -T SRC DST", Nothing),
    peer("xcp", Copy, Crate("xcp"), "xcp -r -o --no-progress -T SRC DST", Nothing),
    lop_copies(Again, "lop mirror -q --delete SRC DST"),
    peer("rsync", Again, Debian("rsync"), "rsync -aHAXS --delete SRC/ DST/", Nothing),
    lop_copies(Push, "lop mirror -q --rsh RSH --remote-lop lop SRC localhost:DST"),
    peer("rsync", Push, Debian("rsync"), "rsync -aHAXS -e RSH SRC/ localhost:DST/", Nothing),
    lop_copies(Pull, "lop mirror -q --rsh RSH --remote-lop lop localhost:SRC DST"),
    peer("rsync", Pull, Debian("rsync"), "rsync -aHAXS -e RSH localhost:SRC/ DST/", Nothing),
    Entrant {
        role: Role::Ours,
        ..peer("lop", Delete, Source::Here, "lop purge -q --yes DIR", Nothing)
    },
    peer("rm", Delete, Debian("coreutils"), "rm -rf DIR", Nothing),
    peer("find", Delete, Debian("findutils"), "find DIR -delete", Nothing),
    peer("rmz", Delete, Crate("rmz"), "rmz DIR", Nothing),
    peer("rsync", Delete, Debian("rsync"), "rsync -a --delete EMPTY/ DIR/ && rmdir DIR", Nothing),
    lop_sweeps("lop", Sweep, "lop sweep -q --list --rules RULES/all.ini DIR"),
    lop_sweeps("lop, 10 patterns", Sweep, "lop sweep -q --list --rules RULES/ten.ini DIR"),
    lop_sweeps(BARE_WALK, Sweep, "lop-bench bare-walk --list RULES/dirs DIR"),
    lop_sweeps(BARE_WALK_WITH_STATX, Sweep, "lop-bench bare-walk --list RULES/entries DIR"),
    script("script (substitution)", "bash RULES/clean-windows.sh 3 RULES/lines.txt DIR"),
    script("script (=~)", "bash RULES/clean-windows.sh 2 RULES/lines.txt DIR"),
    script("script (grep)", "bash RULES/clean-windows.sh 1 RULES/lines.txt DIR"),
    peer("bleachbit", Sweep, Debian("bleachbit"), "bleachbit --preview made.*", Nothing),
    peer("globset", Sweep, Source::Here, "lop-bench globset-walk DIR RULES/globs.txt", Nothing),
    peer("find (one walk)", Sweep, Debian("findutils"), "bash RULES/find.sh DIR", Nothing),
    lop_sweeps("lop", Anywhere, "lop sweep -q --list --rules RULES/anywhere.toml DIR"),
    lop_sweeps(
        "lop, and 10 patterns",
        Anywhere,
        "lop sweep -q --list --rules RULES/anywhere.toml --rules RULES/ten.ini DIR",
    ),
    lop_sweeps(
        "lop, and 17,681 patterns",
        Anywhere,
        "lop sweep -q --list --rules RULES/anywhere.toml --rules RULES/all.ini DIR",
    ),
    lop_sweeps(
        "lop, and 17,681 patterns that match nothing",
        Anywhere,
        "lop sweep -q --list --rules RULES/anywhere.toml --rules RULES/nobody.ini DIR",
    ),
    lop_sweeps(BARE_WALK, Anywhere, "lop-bench bare-walk DIR"),
    peer(
        "find",
        Anywhere,
        Debian("findutils"),
        "find DIR -type f ( -iname Thumbs.db -o -iname ehthumbs.db -o -iname ehthumbs_vista.db )",
        Nothing,
    ),
    lop_sweeps("lop", Load, "lop sweep -q --list --rules RULES/all.ini DIR"),
    lop_sweeps("lop, no rules", Load, "lop sweep -q --list --rules RULES/none.ini DIR"),
    lop_sweeps(
        "lop",
        Apply,
        "lop sweep -q --yes --apply --catalog FILE --rules RULES/junk.ini DIR",
    ),
    lop_sweeps(PURGE, Apply, "lop purge -q --yes DIR"),
    Entrant {
        role: Role::Ours,
        ..walker("lop", Source::Here, "lop space -q --catalog CATALOG DIR")
    },
    walker("du", Debian("coreutils"), "du -s DIR"),
    walker("ncdu", Debian("ncdu"), "ncdu -0 -o FILE DIR"),
    walker("gdu", Debian("gdu"), "gdu -n -s -p -c DIR"),
    Entrant {
        role: Role::Ours,
        ..server("lop", Source::Here, "lop share -q --public --listen 127.0.0.1:PORT DIR")
    },
    nginx(NGINX_SENDFILE, Serve, "nginx -p CONF -e CONF/error.log -c CONF/nginx-sendfile.conf"),
    nginx(NGINX_COPY, Serve, "nginx -p CONF -e CONF/error.log -c CONF/nginx-copy.conf"),
    server(
        STATIC_WEB_SERVER,
        Crate("static-web-server"),
        "static-web-server --host 127.0.0.1 --port PORT --root DIR --compression false",
    ),
    nginx("nginx (defaults)", Serve, "nginx -p CONF -e CONF/error.log -c CONF/nginx-defaults.conf"),
    Entrant {
        version: "-v",
        ..server("lighttpd", Debian("lighttpd"), "lighttpd -D -f CONF/lighttpd.conf")
    },
    server("miniserve", Crate("miniserve"), "miniserve --interfaces 127.0.0.1 --port PORT DIR"),
    server("dufs", Crate("dufs"), "dufs --bind 127.0.0.1 --port PORT --log-format= DIR"),
    server(
        "http.server",
        Debian("python3"),
        "python3 -m http.server --protocol HTTP/1.1 --bind 127.0.0.1 --directory DIR PORT",
    ),
    Entrant {
        role: Role::Ours,
        work: Throttle,
        ..server(
            "lop, limit",
            Source::Here,
            "lop share -q --public --limit-rate 1000000 --listen 127.0.0.1:PORT DIR",
        )
    },
    nginx(NGINX_LIMIT, Throttle, "nginx -p CONF -e CONF/error.log -c CONF/nginx-limit.conf"),
    lop_exports("lop", Role::Ours, "lop export -q --catalog CATALOG --host made FILE"),
    lop_exports(
        LOP_WITHOUT_NAMES,
        Role::Aside,
        "lop export -q --catalog CATALOG --host made --names none FILE",
    ),
    Entrant {
        role: Role::Ours,
        ..peer(
            LOP_FLEET,
            Fleet,
            Source::Here,
            "lop-fleet --json report --memory 2G DIR",
            Answer::None,
        )
    },
    lop_alone(LOP_FLEET_SPARK, Work::Spark, "lop-fleet --json report --engine MASTER DIR"),
    lop_alone(LOP_FLEET_ANSWER, Work::Survey, "lop-fleet --json answer DIR"),
    peer(DUCKDB, Fleet, Python("duckdb"), "python -B RULES/groups.py DIR FILE", Answer::None),
];

/// The name of nginx with tuned settings and `sendfile`.
pub(crate) const NGINX_SENDFILE: &str = "nginx (sendfile)";

/// The name of nginx with tuned settings that copies files through its own memory.
pub(crate) const NGINX_COPY: &str = "nginx (no sendfile)";

/// The name of nginx with a limited rate for each connection.
pub(crate) const NGINX_LIMIT: &str = "nginx (limit_rate)";

/// The name of a server whose efficiency is the subject of a requirement.
pub(crate) const STATIC_WEB_SERVER: &str = "static-web-server";

/// The name of lop that exports no names.
pub(crate) const LOP_WITHOUT_NAMES: &str = "lop, no names";

/// The name of the program that compares exports.
pub(crate) const LOP_FLEET: &str = "lop-fleet";

/// The name of the program that compares exports on a Spark cluster.
pub(crate) const LOP_FLEET_SPARK: &str = "lop-fleet, Spark";

/// The name of the program that answers the lists of a survey.
pub(crate) const LOP_FLEET_ANSWER: &str = "lop-fleet, answer";

/// The name of the engine with which lop-fleet is compared.
pub(crate) const DUCKDB: &str = "DuckDB";

/// Returns an entry for lop in work that no peer does.
const fn lop_alone(name: &'static str, work: Work, command: &'static str) -> Entrant {
    Entrant { role: Role::Ours, ..peer(name, work, Source::Here, command, Answer::None) }
}

/// Returns an entry for lop that exports a catalog.
const fn lop_exports(name: &'static str, role: Role, command: &'static str) -> Entrant {
    Entrant { role, ..peer(name, Work::Export, Source::Here, command, Answer::None) }
}

/// Returns an entry for a web server.
const fn server(name: &'static str, source: Source, command: &'static str) -> Entrant {
    peer(name, Serve, source, command, Answer::None)
}

/// Returns an entry for nginx with one of the configurations that the race writes.
const fn nginx(name: &'static str, work: Work, command: &'static str) -> Entrant {
    Entrant { version: "-v", ..peer(name, work, Debian("nginx"), command, Answer::None) }
}

/// The name of the reference for duplicate finders ([`crate::bare_scan`]).
pub(crate) const BARE_SCAN: &str = "bare scan";

/// The name of the reference for previews ([`crate::bare_walk`]).
pub(crate) const BARE_WALK: &str = "bare walk";

/// The name of the reference that also examines the files that match.
pub(crate) const BARE_WALK_WITH_STATX: &str = "bare walk and statx";

/// The name of the reference for moves into quarantine.
pub(crate) const PURGE: &str = "lop purge";

/// Returns an entry for lop or for a reference program that sweeps. Only `lop` is ranked.
const fn lop_sweeps(name: &'static str, work: Work, command: &'static str) -> Entrant {
    // A name of three bytes is "lop".
    let role = if name.len() == 3 { Role::Ours } else { Role::Aside };
    Entrant { role, ..peer(name, work, Source::Here, command, Answer::None) }
}

/// Returns an entry for a program that sums up disk space. It walks the tree and lop reads its
/// catalog, so it is not ranked.
const fn walker(name: &'static str, source: Source, command: &'static str) -> Entrant {
    Entrant { role: Role::Aside, ..peer(name, Space, source, command, Answer::None) }
}

/// Returns an entry for the script in one of its stages.
const fn script(name: &'static str, command: &'static str) -> Entrant {
    peer(name, Sweep, Debian("bash"), command, Nothing)
}
