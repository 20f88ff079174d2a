#!/bin/sh
# Installs Mnemon @VERSION@ for the current user: downloads the archive for this machine, compares its checksum, and puts the
# program into ~/.local/bin, or MNEMON_INSTALL_DIR. Nothing else is changed; deleting that file uninstalls it.
set -eu

version='@VERSION@'
url="${MNEMON_INSTALL_URL:-@URL@}"
into="${MNEMON_INSTALL_DIR:-$HOME/.local/bin}"
sums='@SUMS@'

main() {
    target="$(cpu)-$(system)"
    expected="$(printf '%s\n' "$sums" | awk -v target="$target" '$2 == target { print $1 }')"
    [ -n "$expected" ] || fail "there is no archive for $target; build it from source: cargo install --locked"
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
    name="mnemon-$version-$target"
    fetch "$url/$name.tar.gz" "$folder/archive.tar.gz"
    found="$(checksum "$folder/archive.tar.gz")"
    [ "$found" = "$expected" ] || fail "the archive's checksum is $found, and it must be $expected; nothing was installed"
    tar -xzf "$folder/archive.tar.gz" -C "$folder"
    mkdir -p "$into"
    # In one step: a running program keeps its file.
    cp "$folder/$name/mnemon" "$into/.mnemon.new"
    chmod 755 "$into/.mnemon.new"
    mv -f "$into/.mnemon.new" "$into/mnemon"
    echo "Installed $("$into/mnemon" --version) as $into/mnemon. Start the service: mnemon serve"
    case ":$PATH:" in
        *":$into:"*) ;;
        *) echo "$into is not in PATH; add it, or type $into/mnemon" ;;
    esac
}

cpu() {
    case "$(uname -m)" in
        x86_64 | amd64) echo x86_64 ;;
        aarch64 | arm64) echo aarch64 ;;
        *) uname -m ;;
    esac
}

system() {
    case "$(uname -s)" in
        Linux) echo unknown-linux-musl ;;
        Darwin) echo apple-darwin ;;
        *) uname -s ;;
    esac
}

fetch() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1"
    else
        fail "curl or wget is needed to download $1"
    fi
}

checksum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "sha256sum or shasum is needed to check the download"
    fi
}

fail() {
    echo "error: $1" >&2
    exit 1
}

# At the end, so that a download that broke off runs nothing.
main
