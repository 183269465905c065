import type { SVGProps } from "react";
import type { FleetAdoption } from "../../contract/fleets/adoption.ts";
import { counted } from "../../support/counted.ts";
import { Section, Table, type Tone } from "../page/parts.tsx";

/** Most versions with a band of their own; the others share one. */
const BANDS = 5;
const OTHERS = "others";

/** Width of a day in the chart's units: the chart is stretched to the width of the page. */
const DAY = 10;
const GAP = 2;
const HEIGHT = 100;
/** Room below the line for failing hosts, which are drawn downwards; the next constant is the least height of one. */
const BELOW = 30;
const LEAST = 6;

/** Patterns that distinguish bands without colour, as paths in a square of 4 units. The first band is plain. */
const PATTERNS = ["M0 1H4M0 3H4", "M1 0V4M3 0V4", "M0 4L4 0", "M0 2H4M2 0V4", "M2 0L4 2L2 4L0 2Z", "M0 0L4 4M0 4L4 0"];
const FAILING_PATTERN = PATTERNS.length;

const patternId = (band: number): string => `band-${band}`;

interface Band {
  name: string;
  tone: Tone;
  /** Hosts by day. */
  hosts: number[];
}

/** Returns the bands of a chart, oldest version at the bottom. */
function bandsOf({ days }: FleetAdoption, latest: string): Band[] {
  const most = new Map<string, number>();
  for (const { versions } of days)
    for (const { version, hosts } of versions) most.set(version, Math.max(hosts, most.get(version) ?? 0));
  const now = new Map(days.at(-1)?.versions.map(({ version, hosts }) => [version, hosts]));
  // The latest version, then running ones, then past ones: each group by its hosts.
  const weigh = (version: string) =>
    [Number(version === latest), now.get(version) ?? 0, most.get(version) ?? 0] as const;
  const byWeight = [...most.keys()].toSorted((a, b) => {
    const [one, other] = [weigh(a), weigh(b)];
    return other[0] - one[0] || other[1] - one[1] || other[2] - one[2];
  });
  const named = new Set(byWeight.slice(0, BANDS));
  const order = [...most.keys()].filter((version) => named.has(version));
  const bands = order.map((version): Band => ({
    name: version,
    tone: version === latest ? "good" : "busy",
    hosts: days.map(({ versions }) => versions.find((each) => each.version === version)?.hosts ?? 0),
  }));
  const rest = days.map(({ versions }) =>
    versions.reduce((sum, { version, hosts }) => sum + (named.has(version) ? 0 : hosts), 0),
  );
  return rest.some((hosts) => hosts > 0) ? [...bands, { name: OTHERS, tone: "calm", hosts: rest }] : bands;
}

type Box = Pick<SVGProps<SVGRectElement>, "x" | "y" | "width" | "height">;

/** Draws a rectangle of a band: its colour, with its pattern above. */
const Area = ({ tone, band, title, ...box }: { tone: Tone; band: number; title: string } & Box) => (
  <g className={`${tone} step-${band === FAILING_PATTERN ? 0 : band % 4}`}>
    <rect {...box}>
      <title>{title}</title>
    </rect>
    {band > 0 && <rect {...box} fill={`url(#${patternId(band)})`} className="pattern" />}
  </g>
);

/** Fewest days of a chart, so that a day is a bar and not a page. */
const FEWEST_DAYS = 7;

/** Returns the days since the fleet has hosts, and a title that says so. */
function shownDays({ days: all }: FleetAdoption): FleetAdoption & { title: string } {
  const first = all.findIndex(({ versions, failing }) => versions.length > 0 || failing > 0);
  if (first <= 0) return { days: all, title: `Last ${all.length} days` };
  const days = all.slice(Math.min(first, Math.max(0, all.length - FEWEST_DAYS)));
  return { days, title: `Since ${all[first]!.day}` };
}

/** Shows the hosts of a fleet by version over the last days, with those that failed: as a chart, and as a table. */
export function Adoption({ of, latest }: { of: FleetAdoption; latest: string }) {
  const { days, title: heading } = shownDays(of);
  const bands = bandsOf({ days }, latest);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined || bands.length === 0) return null;
  const totals = days.map(({ versions }) => versions.reduce((sum, { hosts }) => sum + hosts, 0));
  const scale = HEIGHT / Math.max(...totals, 1);
  const isFailing = days.some(({ failing }) => failing > 0);
  const height = HEIGHT + (isFailing ? BELOW : 0);
  const atEnd = bands.map(({ name, hosts }) => `${hosts.at(-1)} on ${name}`).join(", ");
  return (
    <Section id="adoption" title={heading}>
      <svg
        className="adoption"
        viewBox={`0 0 ${days.length * DAY} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Hosts by version from ${first.day} to ${last.day}, at the end ${atEnd}. The table below says the same.`}
      >
        <defs>
          {PATTERNS.map((path, index) => (
            <pattern key={path} id={patternId(index + 1)} width="4" height="4" patternUnits="userSpaceOnUse">
              <path d={path} />
            </pattern>
          ))}
        </defs>
        <path className="axis" d={`M0 ${HEIGHT}H${days.length * DAY}`} vectorEffect="non-scaling-stroke" />
        {days.map(({ day, failing }, nth) => {
          const place = { x: nth * DAY, width: DAY - GAP };
          let top = HEIGHT;
          return (
            <g key={day}>
              {bands.map(({ name, tone, hosts }, band) => {
                const size = hosts[nth]! * scale;
                top -= size;
                const title = `${day}: ${counted(hosts[nth]!, "host")} on ${name}`;
                return size > 0 && <Area key={name} {...{ tone, band, title, ...place, y: top, height: size }} />;
              })}
              {failing > 0 && (
                <Area
                  tone="bad"
                  band={FAILING_PATTERN}
                  title={`${day}: ${counted(failing, "host")} failed`}
                  {...place}
                  y={HEIGHT + 1}
                  height={Math.min(BELOW - 1, Math.max(LEAST, failing * scale))}
                />
              )}
            </g>
          );
        })}
      </svg>
      <p className="span help">
        <span>{first.day}</span> <span>{last.day}</span>
      </p>
      <ul className="legend">
        {bands.map(({ name, tone, hosts }, band) => (
          <li key={name}>
            <Swatch tone={tone} band={band} />
            {name}
            <span className="num">{hosts.at(-1)}</span>
          </li>
        ))}
        {isFailing && (
          <li>
            <Swatch tone="bad" band={FAILING_PATTERN} />
            failed on a day, below the line
          </li>
        )}
      </ul>
      <details>
        <summary>The days as a table</summary>
        <Table
          label="Hosts by version and day"
          columns={["Day", ...bands.map(({ name }) => [name, "num"] as const), ["Failed", "num"]]}
          rows={days
            .map(({ day, failing }, nth) => [day, day, ...bands.map(({ hosts }) => hosts[nth]!), failing] as const)
            .toReversed()}
        />
      </details>
    </Section>
  );
}

/** Shows the look of a band, beside its name. */
const Swatch = ({ tone, band }: { tone: Tone; band: number }) => (
  <svg className="swatch" viewBox="0 0 12 12" aria-hidden="true">
    <Area {...{ tone, band, title: "", width: 12, height: 12 }} />
  </svg>
);
