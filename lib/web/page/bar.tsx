import type { Tone } from "./parts.tsx";

export interface Share {
  label: string;
  count: number;
  tone: Tone;
}

/** Shows shares of a whole as one bar. Its legend, beside it, has the numbers. */
export function Bar({ shares, label }: { shares: readonly Share[]; label: string }) {
  const total = shares.reduce((sum, { count }) => sum + count, 0);
  let from = 0;
  return (
    <svg className="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={label}>
      {total === 0 && <rect className="calm step-3" width="1000" height="10" />}
      {shares.map(({ label: name, count, tone }, index) => {
        const width = (count / Math.max(total, 1)) * 1000;
        const x = from;
        from += width;
        return (
          <rect key={name} className={`${tone} step-${index % 4}`} x={x} width={width} height="10">
            <title>{`${name}: ${count}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
