import { definePlugin } from "sealift/sdk";

/** Berth → ship. Of this process: a harbour is rebuilt every morning. */
const berths = new Map();

export default definePlugin({
  actions: {
    moor: ({ berth, ship }) => {
      if (berths.has(berth)) throw new Error(`berth ${berth} is taken by ${berths.get(berth)}`);
      berths.set(berth, ship);
      return { berth, ship };
    },
    board: () => Object.fromEntries(berths),
  },
  routes: [
    {
      method: "GET",
      path: "/berths",
      handler: async (request, reply, context) => ({
        harbour: context.env.HARBOUR_NAME ?? "Harbour",
        berths: Object.fromEntries(berths),
        high_water: await context.call("tide-table", "next", {}),
      }),
    },
    {
      method: "DELETE",
      path: "/berths/:berth",
      permissions: ["berths:clear"],
      handler: (request) => ({ cleared: berths.delete(Number(request.params.berth)) }),
    },
  ],
});
