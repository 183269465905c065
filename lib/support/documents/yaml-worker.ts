/** Thread that parses one large YAML document; `yaml-thread.ts` starts it. */
import { parentPort, workerData } from "node:worker_threads";
import { parseYamlText } from "./parse-yaml.ts";

const parsed = parseYamlText(workerData as string);
parentPort!.postMessage("faults" in parsed ? parsed : { value: parsed.value });
