import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";

/** Most uses of one kind that are reported. */
const MAX_USES = 500;

/** Names of Node's channels for what its permission model would refuse. */
const PERMISSIONS = ["fs", "net", "child", "worker", "inspector", "wasi", "addon", "ffi"];

type Tell = (use: { what: "host"; host: string } | { what: "node"; permission: string; resource: string }) => void;

/** Reports what this process does that a sandbox would be refused, each thing once. */
export function reportUses(tell: Tell): void {
  const reported = new Set<string>();
  const once: Tell = (use) => {
    const key = JSON.stringify(use);
    if (reported.has(key) || reported.size >= MAX_USES) return;
    reported.add(key);
    tell(use);
  };
  for (const name of PERMISSIONS) {
    subscribe(`node:permission-model:${name}`, (message) => {
      const { permission, resource } = message as { permission: string; resource: string };
      once({ what: "node", permission, resource });
    });
  }
  subscribe("undici:request:create", (message) => {
    const { request } = message as { request: { origin: string | URL } };
    const { protocol, hostname, port } = new URL(request.origin);
    once({ what: "host", host: `${hostname}:${port || (protocol === "https:" ? 443 : 80)}` });
  });
  subscribe("http.client.request.start", (message) => {
    const { request } = message as { request: ClientRequest };
    const [, port] = /:(\d+)$/.exec(String(request.getHeader("host") ?? "")) ?? [];
    once({ what: "host", host: `${request.host}:${port ?? (request.protocol === "https:" ? 443 : 80)}` });
  });
}
