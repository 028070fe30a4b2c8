# Sourced by the other scripts: installs packages with the platform's own package manager.

say() { printf '%s\n' "$*" >&2; }

# as_root runs a command as root: directly, or through sudo, which may ask for the password at a
# terminal. Otherwise it prints what to run and fails.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    say "+ $*"
    "$@"
  elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    say "+ sudo $*"
    sudo "$@"
  else
    say "This needs root. Run it yourself, then try again:"
    say "    sudo $*"
    return 1
  fi
}

# apt_install waits for another apt instead of failing, and fetches the lists only if they lack a package.
apt_install() {
  for package in "$@"; do
    if [ -z "$(apt-cache policy "$package" 2>/dev/null | sed -n 's/^  Candidate: *//p' | grep -v '(none)')" ]; then
      as_root apt-get -o DPkg::Lock::Timeout=300 update || return 1
      break
    fi
  done
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

# need_npm makes sure that npm is there, to fetch what its argument names.
need_npm() {
  command -v npm >/dev/null 2>&1 && return 0
  if command -v apt-get >/dev/null 2>&1; then
    apt_install npm >&2
  else
    say "npm is needed to fetch $1: install Node.js."
    return 1
  fi
}
