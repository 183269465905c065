import { deploymentError } from "../contract/errors.ts";
import { healthSocket } from "../contract/files/address-variables.ts";
import type { Application } from "../contract/files/application.ts";
import type { ApplicationsFile } from "../contract/files/applications.ts";
import { hostAndPort } from "../contract/files/socket-address.ts";
import { askedHost } from "../support/network/is-answered.ts";

/** Returns the URL that answers for an application; undefined without a health path. @throws DeploymentError */
export function healthUrl({ applications }: ApplicationsFile, id: string, app: Application): URL | undefined {
  const path = app.health.http;
  const socket = healthSocket(app);
  if (path === undefined || socket === undefined) return undefined;
  const at = applications[id]?.listen[socket];
  if (at === undefined)
    throw deploymentError("supervisor_unavailable", `applications.yaml gives ${id} no address for ${socket}.`, {
      hint: `Add it: \`sealift app allow ${id} --listen ${socket}=127.0.0.1:PORT\`.`,
    });
  const { host, port } = hostAndPort(at);
  const asked = askedHost(host);
  return new URL(`http://${asked.includes(":") ? `[${asked}]` : asked}:${port}${path}`);
}
