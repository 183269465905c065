/** A service that plugins share: the harbour's own time. */
export default function createClock({ zone = "UTC" } = {}) {
  return {
    now: () =>
      new Intl.DateTimeFormat("en-GB", { dateStyle: "short", timeStyle: "medium", timeZone: zone }).format(new Date()),
  };
}
