# Sourced by ./quickstart and ./check: installs what is missing to build Latchwork on Debian or Ubuntu.
# Nothing is installed when a C compiler (for linking) and a recent Rust toolchain are already there.

rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

say() { printf '\033[1m%s\033[0m\n' "$*"; }

give_up() {
  printf '%s\n' "$@" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo "$@"
  else give_up "This step needs root: $*" "Run it as root, or install sudo, and start again."
  fi
}

apt_install() {
  command -v apt-get >/dev/null 2>&1 ||
    give_up "Missing: $*." "This script installs packages with apt-get only; please install them by hand."
  say "Installing $*"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  hash -r
}

# Whether the distribution has a package of that name, by the lists of the last `apt-get update`.
apt_has() { [[ "$(apt-cache policy "$1" 2>/dev/null)" == *"Candidate: "[0-9]* ]]; }

use_cargo_home() {
  local env_file=${CARGO_HOME:-${HOME:-/root}/.cargo}/env
  if [ -f "$env_file" ]; then . "$env_file"; fi
  hash -r
}

rust_is_recent() {
  command -v cargo >/dev/null 2>&1 || return 1
  local have
  have=$(cargo --version 2>/dev/null | awk '{print $2}')
  [ -n "$have" ] && [ "$(printf '%s\n%s\n' "$rust_wanted" "$have" | sort -V | head -n 1)" = "$rust_wanted" ]
}

# rustup: from the distribution where it has it (Debian 13, Ubuntu 24.04 and later), otherwise one pinned version with
# its checksum.
install_rustup() {
  if command -v apt-get >/dev/null 2>&1 && ! apt_has rustup; then as_root apt-get update -qq; fi
  if apt_has rustup; then
    apt_install rustup
    return
  fi
  command -v curl >/dev/null 2>&1 || apt_install curl ca-certificates
  local machine=$(uname -m) sum file
  case $machine in
    x86_64) sum=20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c ;;
    aarch64) sum=e3853c5a252fca15252d07cb23a1bdd9377a8c6f3efa01531109281ae47f841c ;;
    *) give_up "There is no pinned rustup for $machine." "Install Rust $rust_wanted or later and start again." ;;
  esac
  say "Installing rustup 1.28.2"
  file=$(mktemp)
  curl --proto '=https' --tlsv1.2 -sSf -o "$file" \
    "https://static.rust-lang.org/rustup/archive/1.28.2/$machine-unknown-linux-gnu/rustup-init"
  echo "$sum  $file" | sha256sum --check --quiet || give_up "The downloaded rustup has another checksum: it was not run."
  chmod +x "$file"
  "$file" -y --quiet --no-modify-path --default-toolchain none
  rm -f "$file"
  use_cargo_home
}

ensure_toolchain() {
  use_cargo_home
  command -v cc >/dev/null 2>&1 || apt_install gcc libc6-dev
  if rust_is_recent; then return; fi
  command -v rustup >/dev/null 2>&1 || install_rustup
  say "Installing the stable Rust toolchain"
  rustup toolchain install stable --profile minimal --component rustfmt --component clippy
  # For this run only, so that the user's default toolchain stays; without a default this one becomes it.
  export RUSTUP_TOOLCHAIN=stable
  rustup default >/dev/null 2>&1 || rustup default stable
  rust_is_recent || give_up \
    "Latchwork needs Rust $rust_wanted or later; 'cargo --version' says: $(cargo --version 2>&1 | head -n 1)." \
    "Install it with rustup (https://rustup.rs) and start again."
}

# Makes a Python environment of pinned packages. Arguments: the folder, the requirements.
python_with() {
  python3 -m venv "$1" >/dev/null 2>&1 &&
    timeout 300 "$1/bin/python" -m pip install --quiet --disable-pip-version-check \
      --require-hashes --requirement "$2" >/dev/null 2>&1 && return
  rm -rf "$1"
  return 1
}

# Drivers of Oracle Net, for the tests of conversations through the listener: installed ones, or pinned ones in target/.
# A driver that cannot be installed is skipped with a message; the listener is always tested with Latchwork's own
# client.
offer_drivers() {
  offer_oracledb
  offer_node_oracledb
  offer_go_ora
  offer_ojdbc
}

# python-oracledb.
offer_oracledb() {
  local python
  for python in target/oracledb/bin/python python3; do
    if "$python" -c 'import oracledb' >/dev/null 2>&1; then
      LATCHWORK_ORACLEDB_PYTHON=$(command -v "$python")
      case $LATCHWORK_ORACLEDB_PYTHON in /*) ;; *) LATCHWORK_ORACLEDB_PYTHON=$PWD/$LATCHWORK_ORACLEDB_PYTHON ;; esac
      export LATCHWORK_ORACLEDB_PYTHON
      return
    fi
  done
  if python_with target/oracledb scripts/requirements/oracledb.txt; then
    export LATCHWORK_ORACLEDB_PYTHON=$PWD/target/oracledb/bin/python
  else
    say "python-oracledb cannot be installed: its tests are skipped"
  fi
}

# node-oracledb, pinned by the lock file.
offer_node_oracledb() {
  if ! command -v npm >/dev/null 2>&1; then
    say "npm is not installed: node-oracledb is skipped"
    return
  fi
  local at=target/node-oracledb
  if ! cmp -s scripts/requirements/node/package-lock.json "$at/package-lock.json"; then
    rm -rf "$at"
    mkdir -p "$at"
    cp scripts/requirements/node/package.json "$at"
    cp scripts/requirements/node/package-lock.json "$at/package-lock.json.new"
    if ! (cd "$at" && mv package-lock.json.new package-lock.json &&
      timeout 180 npm ci --silent --ignore-scripts --no-audit --no-fund >/dev/null 2>&1); then
      rm -rf "$at"
      say "node-oracledb cannot be installed: its tests are skipped"
      return
    fi
  fi
  export NODE_PATH=$PWD/$at/node_modules${NODE_PATH:+:$NODE_PATH}
}

# go-ora, in Go's own cache, pinned by the checksums of the conversation's module.
offer_go_ora() {
  if ! command -v go >/dev/null 2>&1; then
    say "Go is not installed: go-ora is skipped"
  elif ! (cd crates/latchwork/tests/conversation/go && timeout 180 go mod download >/dev/null 2>&1); then
    say "go-ora cannot be installed: its tests are skipped"
  fi
}

# Oracle's JDBC driver, pinned by its checksum.
offer_ojdbc() {
  local jar=target/ojdbc/ojdbc11-23.7.0.25.01.jar
  local sum=ec8b7f2020b03b19f572e1bc34f94330610e86d3113ffe1e1f0474b8f5ce88ed
  if ! echo "$sum  $jar" | sha256sum --check --quiet >/dev/null 2>&1; then
    if ! command -v java >/dev/null 2>&1 || ! command -v mvn >/dev/null 2>&1; then
      say "Java or Maven is not installed: Oracle's JDBC driver is skipped"
      return
    fi
    timeout 180 mvn --quiet --batch-mode dependency:copy -DoutputDirectory="$PWD/target/ojdbc" \
      -Dartifact=com.oracle.database.jdbc:ojdbc11:23.7.0.25.01 >/dev/null 2>&1 || true
    if ! echo "$sum  $jar" | sha256sum --check --quiet >/dev/null 2>&1; then
      rm -rf target/ojdbc
      say "Oracle's JDBC driver cannot be installed: its tests are skipped"
      return
    fi
  fi
  export LATCHWORK_OJDBC=$PWD/$jar
}

# python-oracledb's own tests, at one commit, and their requirements.
offer_driver_tests() {
  local commit=60eb3222453860a394a03b1ef392a41fd701b2d5 at=target/driver-tests
  if [ -z "${LATCHWORK_DRIVER_TESTS:-}" ]; then
    if ! command -v git >/dev/null 2>&1; then return; fi
    if [ "$(git -C "$at" rev-parse --verify --quiet HEAD 2>/dev/null)" != "$commit" ]; then
      rm -rf "$at"
      if ! { git init --quiet "$at" &&
        timeout 60 git -C "$at" fetch --quiet --depth 1 https://github.com/oracle/python-oracledb "$commit" &&
        git -C "$at" checkout --quiet --detach "$commit"; } 2>/dev/null; then
        rm -rf "$at"
        say "python-oracledb's own tests cannot be fetched: left out"
        return
      fi
    fi
    export LATCHWORK_DRIVER_TESTS=$PWD/$at
  fi
  if [ -n "${LATCHWORK_DRIVER_TESTS_PYTHON:-}" ]; then return; fi
  at=target/driver-tests-python
  if [ -x "$at/bin/python" ] || python_with "$at" scripts/requirements/driver_tests.txt; then
    export LATCHWORK_DRIVER_TESTS_PYTHON=$PWD/$at/bin/python
  else
    say "What python-oracledb's own tests need cannot be had: they are skipped"
  fi
}

# The tools for which tests run a day's ordinary work: SQLAlchemy and Django, and the Java tools by a list of checksums.
# Tools that cannot be installed are skipped.
offer_tools() {
  local at=target/tools-python jars=target/tools-jars list=scripts/requirements/tools
  if [ -z "${LATCHWORK_TOOLS_PYTHON:-}" ]; then
    if "$at/bin/python" -c 'import sqlalchemy, django, oracledb' >/dev/null 2>&1 ||
      python_with "$at" scripts/requirements/tools.txt; then
      export LATCHWORK_TOOLS_PYTHON=$PWD/$at/bin/python
    else
      say "SQLAlchemy and Django cannot be installed: its tests are skipped"
    fi
  fi
  if [ -n "${LATCHWORK_TOOLS_JARS:-}" ]; then return; fi
  if ! command -v javac >/dev/null 2>&1 || ! command -v mvn >/dev/null 2>&1; then
    say "A Java compiler or Maven is not installed: Flyway, Hibernate, jOOQ and Liquibase are skipped"
    return
  fi
  if ! (cd "$jars" && sha256sum --check --quiet "../../$list/SHA256SUMS") >/dev/null 2>&1; then
    rm -rf "$jars"
    timeout 300 mvn --quiet --batch-mode --file "$list/pom.xml" dependency:copy-dependencies \
      -DincludeScope=runtime -DoutputDirectory="$PWD/$jars" >/dev/null 2>&1 || true
    # Only the jars of the list are used.
    if ! (cd "$jars" && sha256sum --check --quiet "../../$list/SHA256SUMS" &&
      [ "$(ls -1 | wc -l)" -eq "$(wc -l <"../../$list/SHA256SUMS")" ]) >/dev/null 2>&1; then
      rm -rf "$jars"
      say "Flyway, Hibernate, jOOQ and Liquibase cannot be installed: its tests are skipped"
      return
    fi
  fi
  export LATCHWORK_TOOLS_JARS=$PWD/$jars
}

# DuckDB, with which a test reads back the output of `latchwork awr export`: an installed one, or a wheel in target/.
# Without it the test says so and uses other readers.
offer_duckdb() {
  if command -v duckdb >/dev/null 2>&1; then return; fi
  local python
  for python in target/duckdb/bin/python python3; do
    if "$python" -c 'import duckdb' >/dev/null 2>&1; then
      LATCHWORK_DUCKDB_PYTHON=$(command -v "$python")
      case $LATCHWORK_DUCKDB_PYTHON in /*) ;; *) LATCHWORK_DUCKDB_PYTHON=$PWD/$LATCHWORK_DUCKDB_PYTHON ;; esac
      export LATCHWORK_DUCKDB_PYTHON
      return
    fi
  done
  if python_with target/duckdb scripts/requirements/duckdb.txt; then
    export LATCHWORK_DUCKDB_PYTHON=$PWD/target/duckdb/bin/python
  else
    say "DuckDB cannot be had: exports are read back by other readers only"
  fi
}
