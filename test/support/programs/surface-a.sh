#!/usr/bin/env bash
# Surface A and the key service with nothing but curl, openssl and unzip. HUB and KEY come from the environment, the plugin a.zip
# lies in the folder; each check is one line.
set -euo pipefail
n=0
ok() { n=$((n + 1)); echo "ok $n - $1"; }
fail() { echo "not ok - $1"; exit 1; }
is() { [ "$2" = "$3" ] && ok "$1" || fail "$1: got '$2', wanted '$3'"; }
has() { grep -q -- "$3" <<<"$2" && ok "$1" || fail "$1: '$3' is not in: $2"; }
status() { curl -s -o body -w '%{http_code}' "$@"; }
SECRET="a shell's secret"

is "a plugin is created" "$(status -X POST "$HUB/devkeys/projects" -H "X-API-Key: $KEY" -H 'content-type: application/json' -d '{"name":"Shell","kind":"plugin","slug":"shell"}')" 201
is "detail of an unpublished plugin" "$(status -H "X-API-Key: $KEY" "$HUB/app/marketplace/plugins/shell")" 200
has "latest_version is empty" "$(cat body)" '"latest_version":""'

MAC=$(openssl dgst -sha256 -hmac "$SECRET" a.zip | sed 's/^.*= //')
publish() { status -X POST "$HUB/app/marketplace/plugins/shell/versions" -H "X-API-Key: $KEY" -F "version=$1" -F "signature=$2" -F 'repo=acme/shell@v1.0.0' -F "archive=@$3;type=application/zip"; }
is "publishing with a signature of the wrong form is refused" "$(publish 1.0.0 "sha256:$MAC" a.zip)" 400
has "and the body says why, with error, detail and code" "$(cat body)" '"detail":'
is "publishing" "$(publish 1.0.0 "hmac_sha256:$MAC" a.zip)" 201
is "a truncated archive is refused" "$(head -c 100 a.zip > cut.zip; publish 1.0.1 "hmac_sha256:$(openssl dgst -sha256 -hmac "$SECRET" cut.zip | sed 's/^.*= //')" cut.zip)" 422

is "install needs a key" "$(status "$HUB/app/marketplace/plugins/shell/install")" 401
curl -sSf -D headers -o got.zip -H "X-API-Key: $KEY" "$HUB/app/marketplace/plugins/shell/install?version=latest"
cmp -s a.zip got.zip && ok "the ZIP comes back unmodified" || fail "other bytes"
H=$(tr -d '\r' < headers)
has "X-Signature is exact" "$(grep -i '^x-signature:' <<<"$H")" "hmac_sha256:$MAC"
has "X-Plugin is name@version" "$(grep -i '^x-plugin:' <<<"$H")" "@1.0.0"
has "X-Repo is owner/repo@tag" "$(grep -i '^x-repo:' <<<"$H")" "acme/shell@v1.0.0"
unzip -qo got.zip -d out && is "and unpacks" "$(cat out/shell-1.0.0/src/main.js)" "export default 1"
ETAG=$(grep -i '^etag:' <<<"$H" | cut -d' ' -f2-)
is "an unchanged archive is 304" "$(status -H "X-API-Key: $KEY" -H "If-None-Match: $ETAG" "$HUB/app/marketplace/plugins/shell/install")" 304
is "a range is 206" "$(status -H "X-API-Key: $KEY" -H 'Range: bytes=0-3' "$HUB/app/marketplace/plugins/shell/install")" 206
is "of as many bytes" "$(wc -c < body | tr -d ' ')" 4
is "an unknown version is 404" "$(status -H "X-API-Key: $KEY" "$HUB/app/marketplace/plugins/shell/install?version=9.9.9")" 404
is "an unknown plugin is 404" "$(status -H "X-API-Key: $KEY" "$HUB/app/marketplace/plugins/nobody")" 404

NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)
report() { status -X POST "$HUB/app/deployments/deployments/report" -H "X-API-Key: $KEY" -H 'content-type: application/json' -d "$1"; }
is "a report is stored" "$(report "{\"kind\":\"plugin\",\"slug\":\"shell\",\"version\":\"1.0.0\",\"status\":\"success\",\"started_at\":\"$NOW\",\"completed_at\":\"$NOW\",\"host_id\":\"h1\",\"repo\":null,\"error_message\":null}")" 201
is "one without a host is default" "$(report "{\"kind\":\"plugin\",\"slug\":\"shell\",\"version\":\"1.0.0\",\"status\":\"rolled_back\",\"started_at\":\"$NOW\",\"completed_at\":\"$NOW\"}")" 201
is "an unknown status is 422" "$(report "{\"kind\":\"plugin\",\"slug\":\"shell\",\"version\":\"1\",\"status\":\"fine\",\"started_at\":\"$NOW\",\"completed_at\":\"$NOW\"}")" 422
is "the fleet is keyed by host id" "$(status -H "X-API-Key: $KEY" "$HUB/app/deployments/deployments/plugin/shell/hosts")" 200
has "with both hosts" "$(cat body)" '^{"default":{.*"h1":{'
is "a report needs a key" "$(status -X POST "$HUB/app/deployments/deployments/report" -H 'content-type: application/json' -d '{}')" 401
