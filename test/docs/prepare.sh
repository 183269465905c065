# Brings the reader of a page to where the page begins: sourced by comments of the pages, in the page's empty folder.
# Needs REPOSITORY, and HUB_PORT for a hub.

# Waits until a server answers with success.
answers() {
  node -e 'const ask = () => fetch(process.argv[1]).then(({ ok }) => ok, () => false);
    (async () => { for (let n = 0; !(await ask()); n++) { if (n > 1000) process.exit(1); await new Promise((go) => setTimeout(go, 50)); } })()' "$1"
}

a_secret() {
  node -p 'crypto.randomBytes(24).toString("hex")'
}

# The hub of ./hub, for the first time or again.
a_started_hub() {
  hub-serve --data-dir ./hub --listen "127.0.0.1:$HUB_PORT" >hub.log 2>&1 &
  answers "http://127.0.0.1:$HUB_PORT/readyz"
}

a_hub() {
  a_started_hub
  export SEALIFT_HUB_URL=http://127.0.0.1:$HUB_PORT SEALIFT_API_KEY
  SEALIFT_API_KEY=$(cat hub/admin.key)
}

# The plugin tide-table 1.4.0 in the marketplace, with its developer's secret and a plan.
a_plugin() {
  mkdir -p secrets plans
  cp hub/admin.key secrets/api.key
  a_secret >secrets/tide-table
  sealift plugin pack "$REPOSITORY/examples/harbour/plugins/tide-table" --output tide-table.zip
  sealift project create "Tide table" --kind plugin --slug tide-table
  sealift marketplace publish tide-table --version 1.4.0 --archive tide-table.zip \
    --signing-secret-file secrets/tide-table
  sealift plan init tide-table --out plans/tide-table.yaml
}

# The project Harbour 1.0.0, with the key of a host and the signer's public key. PROJECT is its id.
a_project() {
  mkdir -p secrets
  PROJECT=$(sealift project create Harbour)
  sealift key create --name host-1 --project "$PROJECT" >host-1.env
  sed -n 's/^SEALIFT_API_KEY=//p' host-1.env >secrets/host.key
  sed -n 's/^SEALIFT_DEPLOYMENT_CREDENTIAL=//p' host-1.env >secrets/harbour
  sealift signer create --out keys
  cp keys/signer.pub signer.pub
  cp -r "$REPOSITORY/examples/harbour" source
  sed -i "s/^project_id: .*/project_id: $PROJECT/" source/deployment/install.yaml
  deploy-publish ./source --project-id "$PROJECT" --version 1.0.0 --signing-key-file keys/signer.key
}

# A runtime that loads the plugins of the project root `host`, and a plan of Harbour that restarts and checks one of them.
# RUNTIME_PORT is the runtime's.
a_harbour_with_runtime() {
  a_secret >secrets/plugin.key
  mkdir -p host/plugins
  printf 'app:\n  name: harbour\n  secret_key: ${PLUGIN_KEY}\n' >host/integration.yaml
  PLUGIN_KEY=$(cat secrets/plugin.key) runtime-serve --config host/integration.yaml \
    --listen "127.0.0.1:$RUNTIME_PORT" >runtime.log 2>&1 &
  answers "http://127.0.0.1:$RUNTIME_PORT/healthz"
  cat >>source/deployment/install.yaml <<END
  - {id: restart, action: restart, plugin: tide-table, depends_on: [berths-env]}
  - {id: health, action: healthcheck, plugin: tide-table, timeout: 10, retries: 0, depends_on: [restart]}
END
  deploy-publish ./source --project-id "$PROJECT" --version 1.0.1 --signing-key-file keys/signer.key
}

# The project Shop with a signer's key, the example web in a folder of its own, and two hosts that have joined: host-1 with the
# project root root-1, host-2 with root-2.
a_shop_with_two_hosts() {
  sealift project create Shop
  sealift signer create --out keys
  sealift host invite --project Shop --uses 2 --signer-public-key keys/signer.pub >join.token
  for n in 1 2; do
    sealift join "$SEALIFT_HUB_URL" --token-file join.token --host-id "host-$n" --out "host-$n" \
      --project-root "$PWD/root-$n" --yes
    mkdir -p "root-$n"
  done
  cp -r "$WEB_EXAMPLE" web
}

# The project Shop with a signer's key, and the example web as its version 1.0.0. PROJECT is its id, which the file
# `project` has, too.
a_shop_for_hosts_without_network() {
  mkdir -p secrets stick
  PROJECT=$(sealift project create Shop)
  echo "$PROJECT" >project
  sealift key create --name maker --project "$PROJECT" >maker.env
  sed -n 's/^SEALIFT_DEPLOYMENT_CREDENTIAL=//p' maker.env >secrets/shop
  sealift signer create --out keys
  cp -r "$WEB_EXAMPLE" web
  (cd web && sealift app init --project-id "$PROJECT" && sed -i "s/stays_up: 10s/stays_up: 1s/" app.yaml &&
    cd deploy && sealift project publish . --version 1.0.0 --signing-key-file ../../keys/signer.key)
}

# The project Shop 1.0.0, whose application web needs a DATABASE_URL, and ends where it does not know its LOG_LEVEL.
a_shop_that_needs_a_secret() {
  local project
  project=$(sealift project create Shop)
  sealift signer create --out keys
  mkdir -p shop/apps/web shop/deployment
  cat >shop/apps/web/app.yaml <<'END'
command: [node, server.js]
listen: [http]
health: { http: /, within: 20s, stays_up: 1s }
environment: { required: [DATABASE_URL], optional: [LOG_LEVEL] }
END
  cat >shop/apps/web/server.js <<'END'
const { DATABASE_URL: url, LOG_LEVEL: level = "info" } = process.env;
if (!["info", "debug"].includes(level)) throw new Error(`There is no level ${level}`);
const text = `level ${level}, database ${new URL(url).hostname}\n`;
require("node:http").createServer((_, response) => response.end(text)).listen({ fd: 3 });
END
  printf 'format_version: "1"\nproject_id: %s\nsteps: [{ id: web, action: install_app, app: web }]\n' "$project" \
    >shop/deployment/install.yaml
  sealift project publish shop --project-id "$project" --version 1.0.0 --signing-key-file keys/signer.key
}

# Waits until hosts tell in the logs of their watches that a version waits, and that they hear of the hub.
waits_for_settings() {
  for log in "$@"; do
    until grep -q "held back (settings)" "$log" && grep -q "tells of new versions" "$log"; do sleep 0.1; done
  done
}

# Ends the hub and takes its folder away.
lose_the_hub() {
  answers "$SEALIFT_HUB_URL/healthz"
  kill "$(jobs -p | tail -n 1)"
  wait "$(jobs -p | tail -n 1)" || true
  mv hub hub.lost
}

# The program tide of Python, which needs a package that lies beside it as a wheel.
a_python_program() {
  mkdir -p tide wheel/tides-1.0.dist-info
  cat >tide/app.py <<'END'
import http.server, os, tides

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(tides.NOW)

http.server.HTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
END
  echo 'NOW = b"rising"' >wheel/tides.py
  printf 'Metadata-Version: 2.1\nName: tides\nVersion: 1.0\n' >wheel/tides-1.0.dist-info/METADATA
  printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >wheel/tides-1.0.dist-info/WHEEL
  printf '%s,,\n' tides.py tides-1.0.dist-info/METADATA tides-1.0.dist-info/WHEEL tides-1.0.dist-info/RECORD \
    >wheel/tides-1.0.dist-info/RECORD
  (cd wheel && python3 -m zipfile -c ../tides-1.0-py3-none-any.whl tides.py tides-1.0.dist-info)
  echo '../tides-1.0-py3-none-any.whl' >tide/requirements.txt
}

# The project shop as a build of Next.js with `output: "standalone"` leaves it, with a small server in place of its own.
a_next_program() {
  mkdir -p shop/.next/standalone/.next shop/.next/standalone/node_modules/next
  cd shop/.next/standalone
  echo '{ "name": "shop", "scripts": { "start": "next start" }, "dependencies": { "next": "14" } }' >package.json
  echo build >.next/BUILD_ID
  echo '{ "name": "next", "version": "14.0.0", "main": "index.js" }' >node_modules/next/package.json
  echo 'exports.answer = (_, response) => response.end("Shop");' >node_modules/next/index.js
  cat >server.js <<'END'
const { createServer } = require("node:http");
createServer(require("next").answer).listen(process.env.PORT || 3000, process.env.HOSTNAME || "0.0.0.0");
END
  cd ../../..
}

# A workspace whose program web `pnpm deploy` of version 9 has put into build/web, with a package of the workspace.
a_pnpm_program() {
  mkdir -p workspace/apps/web workspace/build/web/node_modules/@shop/prices
  cd workspace/build/web
  echo '{ "name": "web", "scripts": { "start": "node server.js" }, "dependencies": { "@shop/prices": "1.0.0" } }' \
    >package.json
  echo 'require("node:http").createServer(require("@shop/prices")).listen(process.env.PORT, process.env.HOST);' >server.js
  echo 'layoutVersion: 5' >node_modules/.modules.yaml
  echo '{ "name": "@shop/prices", "version": "1.0.0" }' >node_modules/@shop/prices/package.json
  echo 'module.exports = (_, response) => response.end("12 EUR");' >node_modules/@shop/prices/index.js
  cd ../../..
}

# The program quay of Go: a server that needs little of the standard library, since that is compiled for it.
a_go_program() {
  mkdir -p quay
  printf 'module quay\n\ngo 1.19\n' >quay/go.mod
  cat >quay/main.go <<'END'
package main

import (
	"net"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		panic(err)
	}
	for {
		if connection, err := listener.Accept(); err == nil {
			connection.Read(make([]byte, 4096))
			connection.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nQuay"))
			connection.Close()
		}
	}
}
END
}
