/** `0.00021`, `0.42`, `12.3`, `1235`: AI credits; `~` marks an estimate. */
export function shortCredits(credits: number, estimated: boolean): string {
  const text = credits < 0.001 ? credits.toFixed(6) : credits < 999.5 ? credits.toPrecision(3) : credits.toFixed(0)
  return `${estimated ? '~' : ''}${text.includes('.') ? text.replace(/\.?0+$/, '') : text}`
}

const units = ['', 'k', 'M', 'G'] as const

/** `950`, `1.2k`, `34k`, `1.2M`: three digits at most, for amounts of which the size matters. */
export function shortCount(amount: number): string {
  let rest = amount
  let unit = 0
  // From where the rounded number would have four digits.
  while (Math.abs(rest) >= 999.5 && unit < units.length - 1) {
    rest /= 1000
    unit += 1
  }
  const text = unit > 0 && Math.abs(rest) < 9.95 ? rest.toFixed(1).replace(/\.0$/, '') : String(Math.round(rest))
  return `${text}${units[unit] ?? ''}`
}
