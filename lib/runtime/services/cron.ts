/** Cron expressions of five fields, in local time: minute, hour, day of month, month, day of week (0 and 7 are Sunday). */

const FIELDS = [
  { name: "minute", from: 0, to: 59 },
  { name: "hour", from: 0, to: 23 },
  { name: "day of month", from: 1, to: 31 },
  { name: "month", from: 1, to: 12 },
  { name: "day of week", from: 0, to: 7 },
] as const;

export type CronSchedule = (at: Date) => boolean;

function parseField(text: string, { name, from, to }: (typeof FIELDS)[number]): Set<number> {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part);
    if (match === null) throw new Error(`the ${name} field ${text} is not valid`);
    const [, first, last, step] = match;
    const low = first === undefined ? from : Number(first);
    const high = first === undefined ? to : last !== undefined ? Number(last) : step === undefined ? low : to;
    if (low < from || high > to || low > high || step === "0")
      throw new Error(`the ${name} field ${text} is out of range`);
    for (let value = low; value <= high; value += Number(step ?? 1)) values.add(value);
  }
  return values;
}

/** @throws Error that names the field that is not valid */
export function parseCron(expression: string): CronSchedule {
  const texts = expression.trim().split(/\s+/);
  if (texts.length !== FIELDS.length) throw new Error(`the cron expression ${expression} has not five fields`);
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, index) =>
    parseField(texts[index] ?? "", field),
  ) as [Set<number>, Set<number>, Set<number>, Set<number>, Set<number>];
  // POSIX: when both days are restricted, either is enough.
  const either = texts[2] !== "*" && texts[4] !== "*";
  return (at) => {
    const onDay = days.has(at.getDate());
    const onWeekday = weekdays.has(at.getDay()) || (at.getDay() === 0 && weekdays.has(7));
    const day = either ? onDay || onWeekday : onDay && onWeekday;
    return minutes.has(at.getMinutes()) && hours.has(at.getHours()) && months.has(at.getMonth() + 1) && day;
  };
}
