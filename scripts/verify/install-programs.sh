#!/usr/bin/env bash
# Installs the programs of Debian that `npm run verify` needs, where it is root and the machine has apt-get. docs/testing.md.
set -euo pipefail
PATH="$PATH:/usr/sbin"
# `program:package` where the names differ.
programs=(dnsmasq:dnsmasq-base bwrap:bubblewrap pasta:passt python3 caddy nginx haproxy strace zsh fish chromium)
# What judges the recipes of deploy/.
programs+=(systemd-analyze:systemd promtool:prometheus)
# The failover drill: docs/scaling.md.
programs+=(patroni etcd:etcd-server /usr/lib/postgresql/15/bin/postgres:postgresql-15 pgbouncer nft:nftables ip:iproute2)
missing=()
# What is released: docs/releasing.md. The libraries are found by a program among them.
programs+=(skopeo buildah runc qemu-aarch64-static:qemu-user-static)
programs+=(/usr/aarch64-linux-gnu/lib/libc.so.6:libatomic1-arm64-cross /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1:libstdc++6-arm64-cross)
for program in "${programs[@]}"; do
  command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
done
if [ "${#missing[@]}" -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  # Installing starts no service: policy-rc.d says so, unless the machine has one.
  own=/usr/sbin/policy-rc.d
  if [ -e "$own" ]; then own=; else printf '#!/bin/sh\nexit 101\n' >"$own" && chmod 755 "$own"; fi
  apt-get update >/dev/null 2>&1 || true
  # All at once; one that cannot be had holds up no other.
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    for package in "${missing[@]}"; do
      apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1 || true
    done
  [ -z "$own" ] || rm -f "$own"
fi
