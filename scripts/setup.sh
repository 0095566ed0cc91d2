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

# Whether the distribution has a package of that name. Looks at what `apt-get update` brought last.
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

# rustup: from the distribution where it has it (Debian 13, Ubuntu 24.04 and later), else one pinned version by checksum.
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
  # For this run only, so that a default somebody has chosen stays; who has none gets this one.
  export RUSTUP_TOOLCHAIN=stable
  rustup default >/dev/null 2>&1 || rustup default stable
  rust_is_recent || give_up \
    "Latchwork needs Rust $rust_wanted or later; 'cargo --version' says: $(cargo --version 2>&1 | head -n 1)." \
    "Install it with rustup (https://rustup.rs) and start again."
}

# python-oracledb, a driver of Oracle Net with which a test connects through the listener: one that is there, or a wheel in target/. Where
# neither can be had the test says so; the listener is tested by a client of our own then.
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
  if python3 -m venv target/oracledb >/dev/null 2>&1 &&
    timeout 180 target/oracledb/bin/python -m pip install --quiet --disable-pip-version-check \
      --require-hashes --requirement scripts/requirements/oracledb.txt >/dev/null 2>&1; then
    export LATCHWORK_ORACLEDB_PYTHON=$PWD/target/oracledb/bin/python
  else
    rm -rf target/oracledb
    say "python-oracledb cannot be had: the listener is tested by our own client only"
  fi
}

# DuckDB, with which a test reads back what `latchwork awr export` writes: one that is there, or a wheel in target/. Where neither can be
# had the test says so and reads with other readers.
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
  if python3 -m venv target/duckdb >/dev/null 2>&1 &&
    timeout 180 target/duckdb/bin/python -m pip install --quiet --disable-pip-version-check \
      --require-hashes --requirement scripts/requirements/duckdb.txt >/dev/null 2>&1; then
    export LATCHWORK_DUCKDB_PYTHON=$PWD/target/duckdb/bin/python
  else
    rm -rf target/duckdb
    say "DuckDB cannot be had: exports are read back by other readers only"
  fi
}
