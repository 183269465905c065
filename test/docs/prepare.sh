# Brings the reader of a page to where the page begins: sourced by comments of the pages, in the page's empty folder.
# Needs REPOSITORY, and HUB_PORT for a hub.

a_hub() {
  hub-serve --data-dir ./hub --listen "127.0.0.1:$HUB_PORT" >hub.log 2>&1 &
  curl -fs --retry 100 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$HUB_PORT/readyz" >/dev/null
  export SEALIFT_HUB_URL=http://127.0.0.1:$HUB_PORT SEALIFT_API_KEY
  SEALIFT_API_KEY=$(cat hub/admin.key)
}

# The plugin tide-table 1.4.0 in the marketplace, with its developer's secret and a plan.
a_plugin() {
  mkdir -p secrets plans
  cp hub/admin.key secrets/api.key
  openssl rand -hex 24 >secrets/tide-table
  (cd "$REPOSITORY/examples/harbour/plugins" && zip -qr - tide-table) >tide-table.zip
  sealift projects create "Tide table" --kind plugin --slug tide-table
  sealift marketplace publish tide-table --version 1.4.0 --archive tide-table.zip \
    --signing-secret-file secrets/tide-table
  sealift plan init tide-table --out plans/tide-table.yaml
}

# The project Harbour 1.0.0, with the key of a host and the signer's public key. PROJECT is its id.
a_project() {
  mkdir -p secrets
  PROJECT=$(sealift projects create Harbour)
  sealift keys create --name host-1 --project "$PROJECT" >host-1.env
  sed -n 's/^SEALIFT_API_KEY=//p' host-1.env >secrets/host.key
  sed -n 's/^SEALIFT_DEPLOYMENT_CREDENTIAL=//p' host-1.env >secrets/harbour
  sealift keygen --out keys
  cp keys/signer.pub signer.pub
  cp -r "$REPOSITORY/examples/harbour" source
  sed -i "s/^project_id: .*/project_id: $PROJECT/" source/deployment/install.yaml
  deploy-publish ./source --project-id "$PROJECT" --version 1.0.0 --signing-key-file keys/signer.key
}
