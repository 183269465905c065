import { usageError } from "../../contract/errors.ts";

/** Location of a bucket, from `--blob-url s3://…`. */
export interface S3Location {
  bucket: string;
  /** Prefix of every object key; empty or ending with a slash. */
  prefix: string;
  /** Endpoint of a storage other than Amazon's. */
  endpoint?: string;
  region?: string;
  /**
   * Whether the bucket is part of the path instead of the host name, as most storages with an endpoint of their own
   * require.
   */
  pathStyle: boolean;
  /** Whether hosts fetch projects' artifacts from the storage, by addresses that expire, or through the hub. */
  direct: boolean;
}

const PARAMETERS = new Set(["endpoint", "region", "path-style", "downloads"]);

/**
 * Parses `s3://bucket[/prefix]?endpoint=…&region=…&path-style=true|false&downloads=direct|hub`.
 *
 * @throws UsageError `usage`, without the text, which may hold credentials
 */
export function parseS3Url(text: string): S3Location {
  const invalid = (why: string) =>
    usageError("usage", `--blob-url is not a valid s3:// address: ${why}.`, {
      hint: "Write s3://bucket/prefix?endpoint=https://…&region=…; credentials come from the environment (AWS_ACCESS_KEY_ID and so on).",
    });
  const url = URL.parse(text);
  if (url === null || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname))
    throw invalid("the bucket's name is missing or wrong");
  if (url.username !== "" || url.password !== "") throw invalid("it must not hold credentials");
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.has(key));
  if (unknown !== undefined) throw invalid(`${JSON.stringify(unknown)} is not a parameter of it`);
  const choice = (name: string, values: readonly [string, string]): string | undefined => {
    const value = url.searchParams.get(name);
    if (value !== null && !values.includes(value)) throw invalid(`${name} is ${values.join(" or ")}`);
    return value ?? undefined;
  };
  const endpoint = url.searchParams.get("endpoint");
  if (endpoint !== null && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ""))
    throw invalid("endpoint is not an http(s) address");
  const region = url.searchParams.get("region");
  const path = url.pathname.replace(/^\/+|\/+$/g, "");
  return {
    bucket: url.hostname,
    prefix: path === "" ? "" : `${path}/`,
    ...(endpoint !== null && { endpoint }),
    ...(region !== null && { region }),
    pathStyle: (choice("path-style", ["true", "false"]) ?? String(endpoint !== null)) === "true",
    direct: choice("downloads", ["direct", "hub"]) !== "hub",
  };
}
