#!/bin/sh
# Installs the executable of Sealift whose digest stands in SHA256SUMS beside this file, for this job. Settings:
#   SEALIFT_WANTED   another version, whose digest is in SEALIFT_WANTED_SHA256
#   SEALIFT_FROM     where the files of releases are, a folder for each tag
set -eu

fail() {
  echo "$*" >&2
  exit 2
}

case $(uname -s)-$(uname -m) in
  Linux-x86_64) platform=linux-x64 ;;
  Linux-aarch64) platform=linux-arm64 ;;
  *) fail "There is no executable for $(uname -s) on $(uname -m): install Sealift before this action, and give sealift-version: none." ;;
esac

sums=$(dirname "$0")/SHA256SUMS
if [ -n "${SEALIFT_WANTED:-}" ]; then
  name=sealift-$SEALIFT_WANTED-$platform
  digest=${SEALIFT_WANTED_SHA256:-}
  [ -n "$digest" ] || fail "sealift-version $SEALIFT_WANTED needs sealift-sha256, the digest of $name. Without both, the action installs its own version."
else
  [ -f "$sums" ] || fail "The action names no digests: take it from its own repository, not from that of the sources."
  name=$(sed -n "s/^[0-9a-f]*  \(sealift-.*-$platform\)$/\1/p" "$sums")
  digest=$(sed -n "s/^\([0-9a-f]*\)  $name$/\1/p" "$sums")
fi
version=${name#sealift-}
version=${version%-"$platform"}

folder=$RUNNER_TEMP/sealift-$version
mkdir -p "$folder"
curl --fail --silent --show-error --location --retry 3 --output "$folder/download" "$SEALIFT_FROM/v$version/$name"
if ! echo "$digest  $folder/download" | sha256sum --check --status; then
  rm -f "$folder/download"
  fail "$SEALIFT_FROM/v$version/$name has another digest than $digest: it is not what the action was released with."
fi
chmod 755 "$folder/download"
mv "$folder/download" "$folder/sealift"
echo "$folder" >>"$GITHUB_PATH"
echo "Installed $name, SHA-256 $digest."
