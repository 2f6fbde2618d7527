/** The text in an indented ASCII frame. */
export function formatBox(text: string): string {
  const edge = `  +${'-'.repeat(text.length + 8)}+\n`
  const space = `  |${' '.repeat(text.length + 8)}|\n`
  return `${edge}${space}  |    ${text}    |\n${space}${edge}`
}

/** A bar such as `[######----]`; `share` is clamped to 0…1. */
export function formatBar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}]`
}

/** AI credits as `0.00021`, `0.42`, `12.3`, `1235`; `~` marks an estimate. */
export function shortCredits(credits: number, estimated: boolean): string {
  const text = credits < 0.001 ? credits.toFixed(6) : credits < 999.5 ? credits.toPrecision(3) : credits.toFixed(0)
  return `${estimated ? '~' : ''}${text.includes('.') ? text.replace(/\.?0+$/, '') : text}`
}

/** `1 file`, `2 files`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `840 ms`, `3.1 s`. */
export function shortMs(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}

const units = ['', 'k', 'M', 'G'] as const

/** `950`, `1.2k`, `34k`, `1.2M`: at most three digits. */
export function shortCount(amount: number): string {
  let scaled = amount
  let unit = 0
  // From 999.5 on, rounding would give four digits.
  while (Math.abs(scaled) >= 999.5 && unit < units.length - 1) {
    scaled /= 1000
    unit += 1
  }
  const text = unit > 0 && Math.abs(scaled) < 9.95 ? scaled.toFixed(1).replace(/\.0$/, '') : String(Math.round(scaled))
  return `${text}${units[unit] ?? ''}`
}
