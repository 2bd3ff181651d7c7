#!/usr/bin/env bash
# Installs the Debian packages that the build needs, only those that are missing. Works as root or with sudo.
set -euo pipefail

packages=(
  g++ cmake ninja-build                              # to build
  libexpected-dev nlohmann-json3-dev libsimdjson-dev # results, JSON
  libdnnl-dev ocl-icd-opencl-dev                     # matrix products; its CMake files look for OpenCL
  liburing-dev libaio-dev libisal-dev                # storage, checksums
  libgtest-dev                                       # tests
  python3 python3-pip                                # quickstart: fetches and unpacks a model
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "setup: every package is there"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || {
    echo "setup: not root and no sudo (missing: ${missing[*]}): install them another way" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
