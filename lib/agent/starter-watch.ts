import { stringify } from "yaml";
import { SCHEMA_COMMENT } from "../contract/files/json-schemas.ts";
import { type Target, targetText } from "../contract/target.ts";

/** The key of a host, as `key create --out` writes it. */
export const HOST_KEYS = "host.env";

/** The text of a watch.yaml to start from, beside {@link HOST_KEYS}, `signer.pub`, `signing.secret` and plans. */
export function starterWatch(options: { hubUrl: string; projectRoot: string; targets: readonly Target[] }): string {
  const { hubUrl, projectRoot, targets } = options;
  const own = ({ kind, slug }: Target) =>
    kind === "project"
      ? { deployment_credential_file: HOST_KEYS, signer_public_key: "signer.pub" }
      : { signing_secret_file: "signing.secret", install_plan: `${slug}.yaml` };
  const content = {
    ...{ hub_url: hubUrl, api_key_file: HOST_KEYS, project_root: projectRoot, interval: "60s" },
    targets: targets.map((target) => ({ target: targetText(target), ...own(target) })),
  };
  return `${SCHEMA_COMMENT("watch")}\n${stringify(content)}`;
}
