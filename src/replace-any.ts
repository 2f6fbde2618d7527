/** Characters that are looked at together. Three are rare enough in any text to tell where no needle can be. */
const blockLength = 3
/** Characters at the end of each needle that are looked for. A text without needles is walked in steps of nearly as many. */
const windowLength = 8
const slots = 0x1_0000

/** Each needle has at least this many characters. */
export const shortestNeedle = windowLength

/**
 * A way to replace every needle in a text, in one pass whose cost hardly grows with their number: an upstream's error and
 * a log line can have megabytes, and there are hundreds of needles. What overlaps is replaced together. Needles are told
 * apart by how they end: credentials of one kind begin alike.
 * Source: S. Wu, U. Manber, “A fast algorithm for multi-pattern searching”, TR-94-17, University of Arizona, 1994.
 */
export function createReplacer(needles: Iterable<string>, replacement: string): (text: string) => string {
  // By the block that was seen last: how far on the next needle can end at the earliest, and which may end right there.
  const steps = new Uint8Array(slots).fill(windowLength - blockLength + 1)
  const ending = new Map<number, string[]>()
  // The longest first: it is the one that is found.
  for (const needle of [...new Set(needles)].toSorted((a, b) => b.length - a.length)) {
    for (let rest = 0; rest <= windowLength - blockLength; rest += 1) {
      const slot = slotAt(needle, needle.length - rest)
      steps[slot] = Math.min(steps[slot] ?? 0, rest)
    }
    const slot = slotAt(needle, needle.length)
    const others = ending.get(slot)
    if (others === undefined) ending.set(slot, [needle])
    else others.push(needle)
  }
  if (ending.size === 0) return (text) => text

  return (text) => {
    const spans: Span[] = []
    for (let end = windowLength; end <= text.length;) {
      const slot = slotAt(text, end)
      const step = steps[slot] ?? 0
      if (step > 0) {
        end += step
        continue
      }
      const found = needleAt(text, end, ending.get(slot))
      if (found !== undefined) cover(spans, { from: end - found.length, to: end })
      end += 1
    }
    let replaced = ''
    let done = 0
    for (const { from, to } of spans) {
      replaced += text.slice(done, from) + replacement
      done = to
    }
    return done === 0 ? text : replaced + text.slice(done)
  }
}

/**
 * A function of its own: where a closure names a loop's variable, V8 makes a new context in each round, also in those that
 * make no closure, until the loop is fully optimized.
 */
function needleAt(text: string, end: number, needles: readonly string[] = []): string | undefined {
  return needles.find((needle) => text.endsWith(needle, end))
}

interface Span {
  readonly from: number
  readonly to: number
}

/** Adds a span that ends behind all the others, as one with those that it overlaps. */
function cover(spans: Span[], { from, to }: Span): void {
  let start = from
  for (let last = spans.at(-1); last !== undefined && last.to > start; last = spans.at(-1)) {
    start = Math.min(start, last.from)
    spans.pop()
  }
  spans.push({ from: start, to })
}

/** Of the block that ends there. Different blocks may share one. */
function slotAt(text: string, end: number): number {
  const first = Math.imul(text.charCodeAt(end - 3), 0x1003f)
  const second = Math.imul(text.charCodeAt(end - 2), 0x101)
  const third = Math.imul(text.charCodeAt(end - 1), 0x3f1)
  return (first ^ second ^ third) & (slots - 1)
}
