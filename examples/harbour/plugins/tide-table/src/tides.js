const HOUR = 3_600_000;
/** Amplitude in metres and period in hours of the lunar and the solar semidiurnal tide. */
const CONSTITUENTS = [
  { amplitude: 1.8, period: 12.4206 },
  { amplitude: 0.6, period: 12 },
];

/** Height above mean water, in metres. */
export function heightAt(time) {
  const hours = time.getTime() / HOUR;
  const height = CONSTITUENTS.reduce(
    (sum, { amplitude, period }) => sum + amplitude * Math.cos((2 * Math.PI * hours) / period),
    0,
  );
  return Math.round(height * 100) / 100;
}

/** The first maximum after a time, to the minute. */
export function nextHighWater(after) {
  const step = HOUR / 60;
  let time = after.getTime() + step;
  while (!(
    heightAt(new Date(time)) >= heightAt(new Date(time - step)) &&
    heightAt(new Date(time)) > heightAt(new Date(time + 6 * step))
  )) {
    time += step;
  }
  return { at: new Date(time).toISOString(), metres: heightAt(new Date(time)) };
}
