import { getHeapStatistics } from "node:v8";

/**
 * Gives a process without `/proc`, as some walls have to leave it, the memory figures that Node.js reads from there:
 * resident memory is then the most that there has been, which the kernel tells by a call.
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
