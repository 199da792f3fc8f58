//! Tests of the wheel, with `pip` and with `uvx`.

use super::system::{System, source};

#[test]
fn pip_installs_the_wheel() {
    let Some((system, wheel)) = System::with(".whl") else { return };
    system.run(&format!(
        "python3 -m venv /venv; /venv/bin/pip install --no-index --disable-pip-version-check {wheel}
         ls /venv/lib/python3*/site-packages/lop-*.dist-info/licenses/THIRD-PARTY-LICENSES.txt"
    ));
    system.play_the_readme("/venv/bin");
    system.run("/venv/bin/pip uninstall --yes lop; if test -e /venv/bin/lop; then exit 1; fi");
}

#[test]
fn uvx_runs_the_wheel() {
    let Some((system, wheel)) = System::with(".whl") else { return };
    system.add(&source().join("target/wheels/bin/uvx"), "/usr/local/bin/");
    system.add(&source().join("target/wheels/bin/uv"), "/usr/local/bin/");
    let printed = system.run(&format!("uvx --offline --quiet --from {wheel} lop --version"));
    assert!(printed.starts_with("lop "), "{printed}");
}
