import http from "node:http";
import tls from "node:tls";
import { usageError } from "../../lib/contract/errors.ts";
import { readFault, readKeyFile } from "../../lib/support/files.ts";
import { forgetSessions } from "../../lib/support/network/tls-sessions.ts";

/** Returns the proxies that the environment names, as programs read them. */
export function proxyVariables(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/**
 * Sends requests through the proxies of the environment, and trusts the system's certificates in addition to Node's.
 *
 * @param caFile more certificates to trust (PEM)
 * @param usesTls whether a hub may be reached by https: reading the system's certificates takes a few milliseconds
 * @throws UsageError `config_invalid` when the file holds no certificate
 */
export async function prepareNetwork({
  caFile,
  usesTls,
}: {
  caFile: string | undefined;
  usesTls: boolean;
}): Promise<void> {
  if (Object.keys(proxyVariables()).some((name) => !/^no_proxy$/i.test(name))) http.setGlobalProxyFromEnv?.();
  if (!usesTls) return;
  const own = caFile === undefined ? [] : await certificatesOf(caFile);
  tls.setDefaultCACertificates?.([
    ...new Set([...tls.getCACertificates("default"), ...tls.getCACertificates("system"), ...own]),
  ]);
  forgetSessions();
}

async function certificatesOf(file: string): Promise<string[]> {
  let text: string;
  try {
    text = (await readKeyFile(file)).toString();
  } catch (error) {
    throw usageError("config_invalid", `--ca-file ${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Give a file of certificates in PEM.",
    });
  }
  const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (found.length > 0) return found;
  throw usageError("config_invalid", `--ca-file ${file} holds no certificate.`, {
    hint: "It takes certificates in PEM form.",
  });
}
