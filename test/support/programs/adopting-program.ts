/** Deploys version 1.0.0 of the plugin `a` into the project root that it is given, and tells each event on stdout. */
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { ADOPTING, adoptingOptions } from "../host/adopting.ts";

await deploy(ADOPTING, adoptingOptions(process.argv[2]!), ({ event }) => void process.stdout.write(`${event}\n`));
