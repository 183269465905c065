/** Names of variables that neither an operator nor a version sets for a program on a host. */

/** Names that Node, its libraries or the system's loader read before a program's own code: they run other code. */
const STEERING = /^(?:NODE_|LD_|DYLD_|UV_)|^(?:OPENSSL_CONF|SSLKEYLOGFILE)$/;
/** Names by which a host says where an application listens, who it is, and where its programs stand. */
const OF_THE_HOST = /^(?:PORT|HOST)(?:_|$)|^(?:LISTEN_|SEALIFT_)|^(?:PATH|HOME)$/;

/** Tells whether a variable steers Node itself, or the loader that starts it. */
export const steersNode = (name: string): boolean => STEERING.test(name);

/** Tells whether a variable cannot be a setting of a fleet. */
export const isReservedSetting = (name: string): boolean => steersNode(name) || OF_THE_HOST.test(name);
