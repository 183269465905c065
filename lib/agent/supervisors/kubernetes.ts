import { describeFailure } from "../base/child-program.ts";
import { answers, inquire, supervise, type Supervisor, unitName } from "./supervisor.ts";

export interface KubernetesOptions {
  /** Template of the names; `<id>` is the plugin. */
  template?: string | undefined;
  namespace?: string | undefined;
  context?: string | undefined;
}

/** Annotation of a deployment with the number of replicas that a `stop` removed. */
const REPLICAS = "sealift.dev/replicas";

/** Supervises deployments through `kubectl`. Healthy: `rollout status` succeeds in time. */
export function kubernetesSupervisor({ template, namespace, context }: KubernetesOptions): Supervisor {
  const kubectl = (...args: string[]): [string, ...string[]] => [
    "kubectl",
    ...(context === undefined ? [] : ["--context", context]),
    ...(namespace === undefined ? [] : ["--namespace", namespace]),
    ...args,
  ];
  const name = (plugin: string | null): string => `deployment/${unitName(template, plugin)}`;
  const read = async (deployment: string, path: string, signal?: AbortSignal): Promise<string> =>
    (await supervise(kubectl("get", deployment, "--output", `jsonpath=${path}`), signal)).stdout.trim();

  return {
    ready: (signal) => answers(kubectl("version", "--request-timeout=8s"), signal),
    async start(plugin, signal) {
      const deployment = name(plugin);
      if (Number(await read(deployment, "{.spec.replicas}", signal)) > 0) return;
      const before = Number(
        await read(deployment, `{.metadata.annotations['${REPLICAS.replaceAll(".", "\\.")}']}`, signal),
      );
      await supervise(kubectl("scale", deployment, `--replicas=${before > 0 ? before : 1}`), signal);
    },
    async stop(plugin, signal) {
      const deployment = name(plugin);
      const replicas = Number(await read(deployment, "{.spec.replicas}", signal));
      if (replicas > 0)
        await supervise(kubectl("annotate", deployment, "--overwrite", `${REPLICAS}=${replicas}`), signal);
      await supervise(kubectl("scale", deployment, "--replicas=0"), signal);
    },
    async restart(plugin, signal) {
      await supervise(kubectl("rollout", "restart", name(plugin)), signal);
    },
    async check(plugin, timeoutMs, signal) {
      const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
      const result = await inquire(
        kubectl("rollout", "status", name(plugin), `--timeout=${seconds}s`),
        timeoutMs + 5_000,
        signal,
      );
      return result.code === 0
        ? undefined
        : `kubectl rollout status ${name(plugin)} failed: ${describeFailure(result, timeoutMs)}`;
    },
  };
}
