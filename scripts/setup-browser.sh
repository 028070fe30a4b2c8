#!/bin/sh
# Makes sure that there is a Chromium for the tests of the approval page.
set -eu
cd "$(dirname "$0")"
. ./install.sh

find_browser() {
  if [ -n "${SW_TEST_BROWSER:-}" ]; then
    [ -x "$SW_TEST_BROWSER" ] && echo "$SW_TEST_BROWSER"
    return
  fi
  for name in chromium chromium-browser google-chrome '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
    if command -v "$name" 2>/dev/null; then return 0; fi
  done
  return 1
}

if path=$(find_browser); then
  say "Browser: $path"
  exit 0
fi
if [ -n "${SW_TEST_BROWSER:-}" ]; then
  say "SW_TEST_BROWSER=$SW_TEST_BROWSER cannot be run."
  exit 1
fi
if [ "${1:-}" = --check ]; then
  say "Browser: no Chromium found. \`make setup-browser\` installs one."
  exit 1
fi

say "No Chromium found. Installing it for the tests of the approval page."
if command -v brew >/dev/null 2>&1; then
  say "+ brew install --cask google-chrome"
  brew install --cask google-chrome
elif command -v apt-get >/dev/null 2>&1; then
  apt_install chromium # on Ubuntu this name is a snap; there SW_TEST_BROWSER can name another Chrome
elif command -v dnf >/dev/null 2>&1; then
  as_root dnf install -y chromium
else
  say "No package manager known here (apt-get, dnf, brew). Install Chromium or Chrome by hand, or set SW_TEST_BROWSER."
  exit 1
fi
path=$(find_browser) || { say "It was installed, but is not to be found; set SW_TEST_BROWSER to its path."; exit 1; }
say "Browser: $path"
