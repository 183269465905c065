import { getHeapStatistics } from "node:v8";

/**
 * Supplies memory figures to a process without `/proc`, which some walls cannot provide and from which Node.js reads
 * them: resident memory is then the peak, which the kernel reports by a call.
 */
export function replaceProc(): void {
  try {
    process.memoryUsage.rss();
    return;
  } catch {
    // This system has no /proc.
  }
  const rss = (): number => process.resourceUsage().maxRSS * 1024;
  const memoryUsage = (): NodeJS.MemoryUsage => {
    const { total_heap_size, used_heap_size, external_memory } = getHeapStatistics();
    return {
      rss: rss(),
      heapTotal: total_heap_size,
      heapUsed: used_heap_size,
      external: external_memory,
      arrayBuffers: 0,
    };
  };
  process.memoryUsage = Object.assign(memoryUsage, { rss });
}
