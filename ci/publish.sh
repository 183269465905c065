#!/bin/sh
# Publishes with the identity of a CI run, and writes a summary in Markdown (docs/ci.md). Settings are variables:
#   SEALIFT_HUB_URL, SEALIFT_TARGET (project:NAME, plugin:SLUG or service:SLUG), SEALIFT_VERSION
#   SEALIFT_SOURCE     folder of a project, or ZIP of a plugin or service
#   SEALIFT_PROVENANCE, SEALIFT_SBOM, SEALIFT_STAGE=true, SEALIFT_OIDC_AUDIENCE     as the options of these names
#   SEALIFT_SUMMARY    file that the summary is appended to
#   SIGNING_KEY        the signer's private key; SEALIFT_SIGNING_SECRET as for `marketplace publish`
set -eu

here=$(dirname "$0")
kind=${SEALIFT_TARGET%%:*}
name=${SEALIFT_TARGET#*:}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A cancelled job leaves no key behind: dash runs the trap of EXIT for an exit only.
trap 'exit 130' INT
trap 'exit 143' TERM HUP

set -- --version "$SEALIFT_VERSION" --oidc --json
if [ -n "${SIGNING_KEY:-}" ]; then
  (umask 077 && printf '%s\n' "$SIGNING_KEY" >"$work/signer.key")
  set -- "$@" --signing-key-file "$work/signer.key"
fi
unset SIGNING_KEY
[ -z "${SEALIFT_PROVENANCE:-}" ] || set -- "$@" --provenance "$SEALIFT_PROVENANCE"
[ -z "${SEALIFT_SBOM:-}" ] || set -- "$@" --sbom "$SEALIFT_SBOM"
[ "${SEALIFT_STAGE:-}" != true ] || set -- "$@" --stage
# What stands in the arguments is not given twice.
unset SEALIFT_VERSION SEALIFT_PROVENANCE SEALIFT_SBOM SEALIFT_STAGE

case $kind in
  project) set -- project publish "$SEALIFT_SOURCE" --project-id "$name" "$@" ;;
  plugin | service) set -- marketplace publish "$name" --kind "$kind" --archive "$SEALIFT_SOURCE" "$@" ;;
  *)
    echo "SEALIFT_TARGET is project:NAME, plugin:SLUG or service:SLUG, not $SEALIFT_TARGET." >&2
    exit 2
    ;;
esac

code=0
sealift "$@" >"$work/events.ndjson" || code=$?
node "$here/summary.js" "$SEALIFT_TARGET" "$work/events.ndjson" >"$work/summary.md"
cat "$work/summary.md"
[ -z "${SEALIFT_SUMMARY:-}" ] || cat "$work/summary.md" >>"$SEALIFT_SUMMARY"
exit "$code"
