# Sourced by ./quickstart and ./check: installs what is missing to build Latchwork on Debian or Ubuntu.
# Nothing is installed when a compiler and a recent Rust toolchain are already there.

rust_wanted=1.88

say() { printf '\033[1m%s\033[0m\n' "$*"; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo "$@"
  else
    echo "This step needs root: $*" >&2
    echo "Run it as root, or install sudo, and start again." >&2
    exit 1
  fi
}

apt_install() {
  command -v apt-get >/dev/null 2>&1 || {
    echo "Missing: $*. This script installs packages with apt-get only; please install them by hand." >&2
    exit 1
  }
  say "Installing $*"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

rust_is_recent() {
  command -v cargo >/dev/null 2>&1 || return 1
  local have
  have=$(cargo --version 2>/dev/null | awk '{print $2}')
  [ "$(printf '%s\n%s\n' "$rust_wanted" "$have" | sort -V | head -n 1)" = "$rust_wanted" ]
}

ensure_toolchain() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  command -v cc >/dev/null 2>&1 || apt_install build-essential
  if ! rust_is_recent; then
    if ! command -v rustup >/dev/null 2>&1; then
      apt_install rustup 2>/dev/null || apt_install cargo rustc
    fi
    if command -v rustup >/dev/null 2>&1; then
      say "Installing the Rust toolchain"
      rustup toolchain install stable --profile minimal
      rustup default stable
    fi
    rust_is_recent || {
      echo "Latchwork needs Rust $rust_wanted or later; 'cargo --version' says: $(cargo --version 2>&1 | head -n 1)." >&2
      echo "Install it with rustup (see the Rust home page) and start again." >&2
      exit 1
    }
  fi
}
