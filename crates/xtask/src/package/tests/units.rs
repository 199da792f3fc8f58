//! Tests of the systemd units, in a booted system.

use super::machine::boot;
use super::system::{System, source};

/// Prepares a system with the package, photos of an ordinary user, and a mail server that stores all mail in a file.
fn installed() -> Option<(System, String)> {
    let (system, deb) = System::with("_amd64.deb")?;
    system.run(&format!(
        "dpkg --install {deb}
         mkdir -p /srv/photos/private /srv/music
         head -c 100000 /dev/urandom > /srv/photos/a; cp /srv/photos/a /srv/photos/private/b
         cp /srv/photos/a /srv/music/c
         chown -R 1000 /srv/photos; chmod 600 /srv/photos/a; chmod 700 /srv/photos/private
         printf '#!/bin/sh\\ncat >> /mail\\n' > /usr/sbin/sendmail; chmod 755 /usr/sbin/sendmail"
    ));
    Some((system, deb))
}

#[test]
fn units_are_sandboxed() {
    let Some((system, _)) = installed() else { return };
    for unit in ["lop-serve.service", "lop-scan@.service", "lop-watch.service"] {
        system.run(&format!(
            "systemd-analyze security --offline=true --threshold=30 --no-pager /usr/lib/systemd/system/{unit}"
        ));
    }
}

#[test]
fn a_folder_is_scanned_and_problems_are_mailed() {
    let Some((system, _)) = installed() else { return };
    let Some(printed) = boot(
        &system,
        "systemctl start lop-scan@srv-photos.service lop-scan@srv-music.service
         if test -e /mail; then exit 1; fi
         lop --catalog /var/lib/lop/catalog.db report
         stat --format %a /var/lib/lop /var/lib/lop/catalog.db
         if systemctl start lop-scan@srv-missing.service; then exit 1; fi
         until grep -q 'Triggering OnFailure' /mail; do sleep 0.1; done
         cat /mail
         systemctl enable --now lop-scan@srv-photos.timer
         systemctl list-timers --no-legend 'lop-scan@*'",
    ) else {
        return;
    };
    for expected in [
        "3 files of 97.7 KiB",
        "  /srv/music/c\n  /srv/photos/a\n  /srv/photos/private/b\n",
        "\n700\n600\n",
        "lop-scan@srv-missing.service failed",
        "/srv/missing: No such file or directory",
        "lop-scan@srv-photos.timer lop-scan@srv-photos.service",
    ] {
        assert!(printed.contains(expected), "{expected:?} is missing:\n{printed}");
    }
}

#[test]
fn scans_use_the_notes_of_the_watcher() {
    let Some((system, _)) = installed() else { return };
    let Some(printed) = boot(
        &system,
        "systemctl start lop-scan@srv-photos.service
         systemctl start lop-watch.service
         # The watcher starts a full scan, for which this one waits.
         systemctl start lop-scan@srv-photos.service
         echo new > /srv/photos/new
         systemctl start lop-scan@srv-photos.service
         journalctl --sync; journalctl --output cat --unit lop-watch --unit lop-scan@srv-photos",
    ) else {
        return;
    };
    assert!(printed.contains("Watching  /srv/photos: "), "{printed}");
    assert!(printed.contains("Scanned   1 changed file in "), "{printed}");
    assert!(!printed.contains("cannot"), "{printed}");
}

/// A command that requests a page with the stored token, and prints the status. The certificate is self-signed.
const REQUEST: &str = "python3 -c \"
import ssl, time, urllib.request
token = open('/var/lib/lop/serve.token').read().strip()
context = ssl._create_unverified_context()
request = urllib.request.Request('https://127.0.0.1:8420/', headers={'Authorization': 'Bearer ' + token})
print(urllib.request.urlopen(request, context=context).status)\"";

#[test]
fn the_server_survives_an_upgrade_and_ends_with_a_removal() {
    let Some((system, deb)) = installed() else { return };
    let boot = boot(
        &system,
        &format!(
            "systemctl enable --now lop-serve.service lop-scan@srv-photos.timer
             until {REQUEST}; do sleep 0.1; done
             old=$(systemctl show --property MainPID --value lop-serve)
             dpkg-deb --raw-extract {deb} /newer
             sed --in-place 's/^Version: .*/Version: 999/' /newer/DEBIAN/control
             echo 'Environment=NEWER=1' | sed --in-place '/^Environment/r /dev/stdin' \
                 /newer/usr/lib/systemd/system/lop-serve.service
             dpkg-deb --build /newer /newer.deb; dpkg --install /newer.deb
             until {REQUEST}; do sleep 0.1; done
             test \"$old\" != \"$(systemctl show --property MainPID --value lop-serve)\"
             systemctl show --property Environment lop-serve | grep NEWER=1
             token=$(cat /var/lib/lop/serve.token)
             if journalctl | grep \"$token\"; then exit 1; fi

             dpkg --remove lop
             if systemctl is-active lop-serve lop-scan@srv-photos.timer; then exit 1; fi
             dpkg --install {deb}
             systemctl is-active lop-serve lop-scan@srv-photos.timer
             dpkg --purge lop
             if systemctl is-active lop-serve lop-scan@srv-photos.timer; then exit 1; fi
             if find /etc/systemd/system | grep lop; then exit 1; fi
             stat /var/lib/lop/serve.token
             dpkg --install {deb}
             if systemctl is-active lop-serve lop-scan@srv-photos.timer; then exit 1; fi"
        ),
    );
    let Some(printed) = boot else { return };
    assert!(printed.contains("\n200\n"), "{printed}");
}

/// The server can change files only with the drop-in from the documentation: files on another file system, and files in
/// `/home` on the root file system.
#[test]
fn the_server_changes_files_only_if_it_is_allowed_to() {
    let Some((system, _)) = installed() else { return };
    let page = std::fs::read_to_string(source().join("docs/systemd.md")).expect("a page");
    let (_, section) =
        page.split_once("\n## Review in a browser\n").expect("the section of the server");
    let drop_in = section.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next());
    let drop_in = drop_in.expect("an example");
    let full = "ProtectSystem=full";
    assert!(section.contains(&format!("`{full}`")) && section.contains("`ProtectHome=no`"));
    let of_root = drop_in.replace("ReadWritePaths=/srv", &format!("{full}\nProtectHome=no"));
    assert_ne!(of_root, drop_in);
    // The service runs one command instead, which needs the same rights as a run from the pages.
    let act = |command: &str| {
        format!(
            "printf '[Service]\\nType=oneshot\\nRestart=no\\nExecStart=\\nExecStart={command}\\n' > $folder/z.conf
             systemctl daemon-reload\n"
        )
    };
    let files = "$(find /srv/photos /srv/music -type f -links 1 | wc -l)";
    let script = [
        "systemctl start lop-scan@srv-photos.service lop-scan@srv-music.service
         folder=/etc/systemd/system/lop-serve.service.d; mkdir $folder\n",
        &act("lop dedupe --by hardlink --apply"),
        &format!("if systemctl start lop-serve; then exit 1; fi; test {files} = 3\n"),
        &format!("cat > $folder/actions.conf <<'end'\n{drop_in}\nend\n"),
        &act("lop dedupe --by hardlink --apply"),
        &format!("systemctl start lop-serve; test {files} = 0\n"),
        &act("lop undo"),
        &format!("systemctl start lop-serve; test {files} = 3\n"),
        "cmp /srv/photos/a /srv/photos/private/b; cmp /srv/photos/a /srv/music/c
         stat --format '%u %a' /srv/photos/a\n",
        "mkdir /home/photos; echo other > /home/photos/a; cp --preserve /home/photos/a /home/photos/b
         systemctl start lop-scan@home-photos.service\n",
        &act("lop dedupe --by hardlink --apply /home/photos"),
        "if systemctl start lop-serve; then exit 1; fi; test $(stat --format %h /home/photos/a) = 1\n",
        &format!("cat > $folder/actions.conf <<'end'\n{of_root}\nend\n"),
        &act("lop dedupe --by hardlink --apply /home/photos"),
        "systemctl start lop-serve; test $(stat --format %h /home/photos/a) = 2\n",
    ];
    let Some(printed) = boot(&system, &script.concat()) else { return };
    assert!(printed.contains("\n1000 600\n"), "{printed}");
}
