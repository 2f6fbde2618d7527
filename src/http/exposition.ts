/*
 * The text format in which Prometheus reads metrics, version 0.0.4. Source:
 * https://prometheus.io/docs/instrumenting/exposition_formats/ (2026-11).
 */

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

interface Family {
  readonly name: string
  readonly help: string
}

export interface Counter {
  /** @param values of the labels, in the order of their names */
  readonly add: (values: readonly string[], amount?: number) => void
  readonly render: () => string
}

export interface Histogram {
  readonly observe: (values: readonly string[], amount: number) => void
  readonly render: () => string
}

/** Sums that only grow, one for each set of label values that was seen. Its labels are written out once. */
export function createCounter(family: Family, labels: readonly string[]): Counter {
  const series = new Map<string, { readonly labels: string; value: number }>()
  return {
    add(values, amount = 1) {
      const key = values.join('\0')
      const known = series.get(key)
      if (known === undefined) series.set(key, { labels: formatLabels(labels, values), value: amount })
      else known.value += amount
    },
    render: () =>
      formatFamily(
        family,
        'counter',
        // Without the last digits, where sums of fractions go wrong: 0.1 + 0.2.
        [...series.values()].map((each) => `${family.name}${each.labels} ${Number(each.value.toPrecision(15))}`),
      ),
  }
}

/** A gauge: what share one amount is of another, of all that was added. A sample begins with the first whole above 0. */
export function createRatio(family: Family, labels: readonly string[]) {
  const series = new Map<string, { readonly labels: string; part: number; whole: number }>()
  return {
    add(values: readonly string[], part: number, whole: number): void {
      if (whole === 0) return
      const key = values.join('\0')
      const known = series.get(key)
      series.set(key, {
        labels: known?.labels ?? formatLabels(labels, values),
        part: (known?.part ?? 0) + part,
        whole: (known?.whole ?? 0) + whole,
      })
    },
    render: () =>
      formatFamily(
        family,
        'gauge',
        [...series.values()].map((each) => `${family.name}${each.labels} ${each.part / each.whole}`),
      ),
  }
}

/** @param bounds of the buckets, upwards; the last bucket has none */
export function createHistogram(family: Family, labels: readonly string[], bounds: readonly number[]): Histogram {
  const series = new Map<
    string,
    { readonly values: readonly string[]; readonly counts: number[]; sum: number; count: number }
  >()

  return {
    observe(values, amount) {
      const key = values.join('\0')
      let found = series.get(key)
      if (found === undefined) {
        found = { values, counts: bounds.map(() => 0), sum: 0, count: 0 }
        series.set(key, found)
      }
      const at = bounds.findIndex((bound) => amount <= bound)
      // Only its own bucket: they are added up when somebody asks.
      if (at !== -1) found.counts[at] = (found.counts[at] ?? 0) + 1
      found.sum += amount
      found.count += 1
    },
    render() {
      const lines: string[] = []
      for (const { values, counts, sum, count } of series.values()) {
        const line = (suffix: string, names: readonly string[], texts: readonly string[], value: number): void =>
          void lines.push(`${family.name}${suffix}${formatLabels(names, texts)} ${value}`)
        const bucket = (bound: string, value: number): void =>
          line('_bucket', [...labels, 'le'], [...values, bound], value)
        let below = 0
        for (const [at, bound] of bounds.entries()) {
          below += counts[at] ?? 0
          bucket(String(bound), below)
        }
        bucket('+Inf', count)
        line('_sum', labels, values, sum)
        line('_count', labels, values, count)
      }
      return formatFamily(family, 'histogram', lines)
    },
  }
}

/** A value of this moment. */
export function formatGauge(family: Family, value: number, labels: Readonly<Record<string, string>> = {}): string {
  const own = formatLabels(Object.keys(labels), Object.values(labels))
  return formatFamily(family, 'gauge', [`${family.name}${own} ${value}`])
}

/** '' where there is no line: a family without a sample says nothing. */
function formatFamily({ name, help }: Family, type: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

function formatLabels(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return ''
  return `{${names.map((name, at) => `${name}="${escapeValue(values[at] ?? '')}"`).join(',')}}`
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
