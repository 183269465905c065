/** Messages of hosts to hubs. */

/** Request of a host for the latest version. */
export interface HostRequest {
  /** Owner of its key; undefined without a key. */
  owner: string | undefined;
  hostId: string | undefined;
  labels: Record<string, string>;
  /** Undefined for a host that does not say. */
  running: string | null | undefined;
}

export interface HostReport {
  owner: string;
  hostId: string;
  isNamed: boolean;
  isBound: boolean;
  labels: Record<string, string>;
  version: string;
  status: "success" | "failed" | "rolled_back";
  /** Why it failed, where the version is not to blame: by a code, or by the words of an older agent. */
  cause?: { code?: string; message: string };
  running: string | null;
  isUnhealthy: boolean;
  /** Milliseconds by which the hub got it earlier. */
  agoMs?: number;
}
