import { getHeapStatistics } from 'node:v8'
import { measure } from 'mitata'

/** Prints the cost of one event, in the fastest and the median run. @param run handles `events` events */
export async function perEvent(title: string, events: number, run: () => void): Promise<void> {
  const { min, p50, heap } = await measure(run, { heap: () => getHeapStatistics().used_heap_size })
  const cell = (value: number) => String(Math.round(value / events)).padStart(8)
  console.log(`${title.padEnd(44)}${cell(min)} ns${cell(p50)} ns${cell(heap?.avg ?? 0)} bytes`)
}

export function printHeading(title: string): void {
  console.log(`\n${title.padEnd(44)}${'fastest'.padStart(11)}${'median'.padStart(11)}${'allocated'.padStart(14)}`)
}
