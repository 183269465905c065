/** The samples of a page of Prometheus text. */
export interface Metrics {
  /** The value of the one sample of that name that has these labels; undefined when there is none. */
  value: (name: string, labels?: Record<string, string>) => number | undefined;
  /** The names of all metrics, without the suffixes of histograms. */
  names: string[];
  text: string;
}

/** Reads Prometheus text. @throws Error for a line that is none of it */
export function parseMetrics(text: string): Metrics {
  const samples: { name: string; labels: Map<string, string>; value: number }[] = [];
  const names: string[] = [];
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type !== null) names.push(type[1]!);
    if (line.startsWith("#")) continue;
    const [, name, inner, value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    const pairs = [...(inner ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, k, v]) => [k!, v!] as const);
    samples.push({ name, labels: new Map(pairs), value: Number(value) });
  }
  const value: Metrics["value"] = (name, labels = {}) => {
    const found = samples.filter(
      (sample) => sample.name === name && Object.entries(labels).every(([k, v]) => sample.labels.get(k) === v),
    );
    if (found.length > 1) throw new Error(`${found.length} samples of ${name} have ${JSON.stringify(labels)}`);
    return found[0]?.value;
  };
  return { value, names, text };
}

/** Reads the metrics of a listener. */
export async function metricsOf(url: string): Promise<Metrics> {
  const answer = await fetch(url);
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
  return parseMetrics(await answer.text());
}
