/** The files of ops/kubernetes/ are what the API server takes, and what the programs take. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as deployment from "kubernetes-models/_schemas/IoK8sApiAppsV1Deployment";
import * as service from "kubernetes-models/_schemas/IoK8sApiCoreV1Service";
import * as budget from "kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget";
import t from "tap";
import { parseAllDocuments } from "yaml";
import { faultsOfCommand } from "../support/programs/container-command.ts";

const FOLDER = join(import.meta.dirname, "../../ops/kubernetes");
const SCHEMAS: Readonly<Record<string, { validate: (value: unknown) => boolean }>> = {
  "v1 Service": service,
  "apps/v1 Deployment": deployment,
  "policy/v1 PodDisruptionBudget": budget,
};

/** Precompiled by Ajv. */
type Validator = ((value: unknown) => boolean) & { errors: { instancePath: string; keyword: string }[] };

interface Container {
  name: string;
  image: string;
  args: string[];
  env?: { name: string }[];
  envFrom?: { secretRef: { name: string } }[];
  volumeMounts: { name: string; mountPath: string }[];
  securityContext: Record<string, unknown>;
}

interface Pod {
  securityContext: Record<string, unknown>;
  containers: Container[];
  volumes: ({ name: string } & Record<string, Record<string, unknown> | string>)[];
}

interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec?: { selector?: { matchLabels?: object }; template?: { metadata: { labels: object }; spec: Pod } };
}

const texts = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), "utf8")]));
const resourcesOf = (text: string): Resource[] =>
  parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as Resource;
  });
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/**
 * Wraps a document so that reading it removes paths from `unread`. A validator of the API's schemas looks at each field
 * that a schema knows, and passes over the others: what it never read is a field that there is not.
 */
function watched<T extends object>(value: T, path: string, unread: Set<string>): T {
  const children = new Map<PropertyKey, unknown>();
  for (const [key, child] of Object.entries(value)) {
    unread.add(`${path}.${key}`);
    if (isObject(child)) children.set(key, watched(child, `${path}.${key}`, unread));
  }
  return new Proxy(value, {
    get(target, key) {
      unread.delete(`${path}.${String(key)}`);
      return children.get(key) ?? (Reflect.get(target, key) as unknown);
    },
  });
}

function faultsOfResource(resource: Resource): string[] {
  const { validate } = SCHEMAS[`${resource.apiVersion} ${resource.kind}`]!;
  const unread = new Set<string>();
  const isValid = validate(watched(resource, resource.kind, unread));
  const errors = isValid
    ? []
    : (validate as Validator).errors.map(({ instancePath, keyword }) => `${instancePath}: ${keyword}`);
  return [...errors, ...[...unread].map((path) => `${path} is not a field`)];
}

t.test("every document is what the schemas of the API say, and has no other field", async (t) => {
  for (const [name, text] of texts)
    for (const resource of resourcesOf(text)) t.strictSame(faultsOfResource(resource), [], `${name}: ${resource.kind}`);
  const wrong = resourcesOf(
    texts.get("hub.yaml")!.replace("replicas: 2", "replicas: two").replace("maxSkew", "mostSkew"),
  );
  t.strictSame(faultsOfResource(wrong[0]!), [
    "/spec/replicas: type",
    "/spec/template/spec/topologySpreadConstraints/0: required",
    "Deployment.spec.template.spec.topologySpreadConstraints.0.mostSkew is not a field",
  ]);
});

for (const [name, text] of texts) {
  const resources = resourcesOf(text);
  const pods = resources.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec]));

  t.test(`the containers of ${name} start commands with options that exist, and are held tight`, async (t) => {
    t.ok(pods.length > 0);
    for (const { selector, template } of pods) {
      t.strictSame(selector?.matchLabels, template!.metadata.labels);
      const { securityContext, containers, volumes } = template!.spec;
      t.match(securityContext, { runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 });
      for (const { args, env = [], envFrom = [], securityContext: own, volumeMounts, image } of containers) {
        const shared =
          envFrom.length > 0 ? [...text.matchAll(/--from-literal=([A-Z_]+)=/g)].map(([, key]) => key!) : [];
        t.strictSame(faultsOfCommand(args, [...env.map((variable) => variable.name), ...shared]), [], args.join(" "));
        t.match(own, {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        });
        t.match(image, /^registry\.example\.org\/sealift:\d/);
        for (const mount of volumeMounts)
          t.ok(
            volumes.some((volume) => volume.name === mount.name),
            mount.name,
          );
      }
    }
  });

  t.test(`the secrets of ${name} are those that its comment makes`, async (t) => {
    const made = new Set([...text.matchAll(/create secret generic ([\w-]+)/g)].map(([, secret]) => secret));
    const used = [...text.matchAll(/secret(?:KeyRef|Ref): \{ name: ([\w-]+)|secretName: ([\w-]+)/g)];
    for (const [shown, byReference, byVolume] of used) t.ok(made.has(byReference ?? byVolume), shown);
  });
}
