//! A Spark cluster on this machine: a master and two workers on the loopback device.
//!
//! `cargo xtask test` installs `PySpark`, which contains Spark, and names the interpreter in an environment variable.
//! Spark also needs Java.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::forks::spawn;
use crate::process::{find_tool, poll, run_tool, wait_exit};
use crate::running::signal_process;
use crate::temp::TempTree;
use crate::{Signal, TEST_TIMEOUT};

/// The environment variable that names an interpreter with `PySpark`.
const VARIABLE: &str = "LOP_TEST_SPARK";

/// The oldest Java that Spark 4 runs on.
const OLDEST_JAVA: u32 = 17;

const WORKERS: usize = 2;

/// The Java classes of the master and of a worker.
const MASTER: &str = "org.apache.spark.deploy.master.Master";
const WORKER: &str = "org.apache.spark.deploy.worker.Worker";

/// Time in which a daemon must end its children.
const GRACE: Duration = Duration::from_secs(20);

/// A master and two workers with one core each. Dropping it stops them.
#[derive(Debug)]
#[must_use = "dropping it ends the cluster"]
pub struct Spark {
    /// The workers, followed by the master.
    daemons: Vec<Child>,
    port: u16,
    interpreter: PathBuf,
    home: PathBuf,
    folder: TempTree,
}

impl Spark {
    /// Starts a cluster for small queries. If that fails, prints the reason and returns `None`.
    pub fn start() -> Option<Spark> {
        // For queries that take a second, optimising the code costs more time than it saves.
        let settings =
            format!("{}spark.sql.shuffle.partitions 4\n", java("-XX:TieredStopAtLevel=1"));
        Spark::try_start(1 << 10, &settings).map_err(crate::skipped).ok()
    }

    /// Starts a cluster for large queries. Each worker gets `worker_mib`, and the driver gets half of that. If this
    /// fails, prints the reason and returns `None`.
    pub fn with_memory(worker_mib: u32) -> Option<Spark> {
        Spark::try_start(worker_mib, &java("")).map_err(crate::skipped).ok()
    }

    /// Starts a cluster and waits until the workers are registered.
    ///
    /// # Errors
    ///
    /// Returns the reason as text: Spark or Java is not installed, or a daemon does not start.
    fn try_start(worker_mib: u32, settings: &str) -> Result<Spark, String> {
        let interpreter = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let interpreter = interpreter
            .ok_or_else(|| format!("{VARIABLE} is not set; 'cargo xtask test' installs PySpark"))?;
        let interpreter = PathBuf::from(interpreter);
        check_java()?;
        let home = home(&interpreter)?;
        let folder = TempTree::new();
        let mut spark = Spark { daemons: Vec::new(), port: 0, interpreter, home, folder };
        spark
            .configure(worker_mib, settings)
            .map_err(|e| format!("no configuration of Spark: {e}"))?;
        let master = spark.daemon("master", &[MASTER, "--port", "0"])?;
        spark.daemons.push(master);
        spark.port = spark.wait_for("master", |log| {
            let port = log.split("Starting Spark master at spark://localhost:").nth(1)?;
            port.split_whitespace().next()?.parse().ok()
        })?;
        for number in 0..WORKERS {
            let name = format!("worker{number}");
            let folder = spark.folder.join(&name).display().to_string();
            let memory = format!("{worker_mib}m");
            let worker = [WORKER, "-c", "1", "-m", &memory, "-d", &folder, &spark.master()];
            let worker = spark.daemon(&name, &worker)?;
            spark.daemons.insert(0, worker);
            let is_ready = |log: &str| log.contains("Successfully registered with master");
            spark.wait_for(&name, |log| is_ready(log).then_some(()))?;
        }
        Ok(spark)
    }

    /// Returns the URL of the master.
    pub fn master(&self) -> String {
        format!("spark://localhost:{}", self.port)
    }

    /// Returns the variables that a program needs to run `spark-submit` for this cluster.
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("SPARK_HOME", self.home.clone()),
            ("SPARK_CONF_DIR", self.folder.join("conf")),
            ("SPARK_LOCAL_IP", "127.0.0.1".into()),
            ("SPARK_LOCAL_HOSTNAME", "localhost".into()),
            ("PYSPARK_PYTHON", self.interpreter.clone()),
        ]
    }

    fn configure(&self, worker_mib: u32, more: &str) -> std::io::Result<()> {
        let conf = self.folder.join("conf");
        fs::create_dir(&conf)?;
        let scratch = self.folder.join("scratch");
        // The executor gets less memory than its worker, because the worker needs some memory for itself.
        let (driver_mib, executor_mib) = (worker_mib.max(2 << 10) / 2, worker_mib / 8 * 7);
        let settings = format!(
            "spark.driver.host localhost\nspark.driver.bindAddress 127.0.0.1\n\
             spark.driver.memory {driver_mib}m\nspark.executor.memory {executor_mib}m\n\
             spark.cores.max {WORKERS}\nspark.ui.enabled false\nspark.local.dir {}\n{more}",
            scratch.display()
        );
        fs::write(conf.join("spark-defaults.conf"), settings)
    }

    /// Starts a daemon, with a log file that has the name of the daemon.
    fn daemon(&self, name: &str, class: &[&str]) -> Result<Child, String> {
        let log = File::create(self.log(name)).map_err(|e| format!("{name}: {e}"))?;
        let errors = log.try_clone().map_err(|e| format!("{name}: {e}"))?;
        let setpriv = find_tool("setpriv").ok_or("setpriv is not installed")?;
        let mut command = Command::new(setpriv);
        // The daemons end even if the tests are killed.
        command.args(["--pdeathsig", "TERM", "--"]).arg(self.home.join("bin/spark-class"));
        command.arg(class[0]).args(["--host", "localhost", "--webui-port", "0"]).args(&class[1..]);
        command.envs(self.variables()).env("SPARK_DAEMON_MEMORY", "256m");
        command.env("SPARK_DAEMON_JAVA_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(log).stderr(errors);
        spawn(&mut command).map_err(|e| format!("{name}: {e}"))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Waits until `found` returns a value for the log of a daemon.
    fn wait_for<T>(
        &self,
        name: &str,
        mut found: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, String> {
        let log = self.log(name);
        let read = || fs::read_to_string(&log).unwrap_or_default();
        let deadline = Instant::now() + TEST_TIMEOUT;
        let ready = poll(deadline, || found(&read()));
        ready.ok_or_else(|| format!("the {name} of Spark does not start: {}", read()))
    }
}

impl Drop for Spark {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // A worker ends its child processes before it ends itself.
            let _is_sent = signal_process(daemon.id(), Signal::TERM);
            if wait_exit(daemon, Instant::now() + GRACE).is_none() {
                let _gone = daemon.kill();
                let _status = daemon.wait();
            }
        }
    }
}

/// Returns the settings that pass an option to the Java of the driver and of the executors.
fn java(option: &str) -> String {
    let of = |role| format!("spark.{role}.extraJavaOptions -XX:+UseSerialGC {option}\n");
    ["driver", "executor"].map(of).concat()
}

/// Checks the version of Java. Old versions have numbers such as `1.8`.
fn check_java() -> Result<(), String> {
    let java = find_tool("java").ok_or("Spark needs Java, which is not installed")?;
    let printed = run_tool(Command::new(java).arg("--version"), TEST_TIMEOUT).stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let version = printed.split_whitespace().nth(1).and_then(|version| version.split('.').next());
    match version.and_then(|version| version.parse::<u32>().ok()) {
        Some(version) if version >= OLDEST_JAVA => Ok(()),
        _ => Err(format!("Spark needs Java {OLDEST_JAVA} or later: {printed}")),
    }
}

/// Returns the folder in which `PySpark` contains Spark.
fn home(interpreter: &Path) -> Result<PathBuf, String> {
    let script = "import os, pyspark; print(os.path.dirname(pyspark.__file__))";
    let found = run_tool(Command::new(interpreter).args(["-B", "-c", script]), TEST_TIMEOUT);
    if !found.status.success() {
        return Err(format!("{}: no PySpark, {}", interpreter.display(), found.account()));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&found.stdout).trim()))
}
