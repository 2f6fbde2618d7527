/** One line of a metric, its labels read. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface ReadFamily {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}

/**
 * Reads the text format, version 0.0.4, and is strict about it: every line is one of a family that HELP and TYPE have
 * announced, families are not mixed, no sample is there twice, and buckets add up.
 */
export function readExposition(text: string): readonly ReadFamily[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no line feed')
  const families: { name: string; help: string; type: string; samples: Sample[] }[] = []
  for (const line of text.split('\n').slice(0, -1)) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (.*)$/.exec(line)
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line)
    const family = families.at(-1)
    if (help !== null) {
      const [, name = '', words = ''] = help
      if (families.some((known) => known.name === name)) throw new Error(`${name} is announced twice`)
      families.push({ name, help: words, type: '', samples: [] })
    } else if (type !== null) {
      if (family?.name !== type[1] || family?.type !== '') throw new Error(`unexpected: ${line}`)
      family.type = type[2] ?? ''
    } else {
      const sample = readSample(line)
      const isOwn = suffixes[family?.type ?? '']?.some((suffix) => sample.name === `${family?.name}${suffix}`)
      if (family === undefined || !isOwn) throw new Error(`of no family: ${line}`)
      family.samples.push(sample)
    }
  }
  for (const family of families) check(family)
  return families
}

function readSample(line: string): Sample {
  const [, name = '', inner, value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  if (name === '' || !/^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.test(value)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  let rest = inner ?? ''
  while (rest !== '') {
    const found = /^([a-zA-Z_]\w*)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)/.exec(rest)
    if (found === null) throw new Error(`no label: ${rest}`)
    const [whole, label = '', escaped = ''] = found
    labels[label] = escaped.replaceAll(/\\(.)/g, (_all, mark: string) => (mark === 'n' ? '\n' : mark))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value: Number(value) }
}

function check({ name, type, samples }: ReadFamily): void {
  const keys = samples.map((sample) => sample.name + JSON.stringify(sample.labels))
  if (new Set(keys).size !== keys.length) throw new Error(`${name} has a sample twice`)
  if (samples.length === 0) throw new Error(`${name} has no sample`)
  if (type !== 'histogram') return
  for (const total of samples.filter((sample) => sample.name === `${name}_count`)) {
    const buckets = samples.filter(
      ({ name: own, labels: { le: _le, ...labels } }) =>
        own === `${name}_bucket` && JSON.stringify(labels) === JSON.stringify(total.labels),
    )
    const bounds = buckets.map(({ labels }) => (labels['le'] === '+Inf' ? Infinity : Number(labels['le'])))
    const values = buckets.map(({ value }) => value)
    if (!grows(bounds) || !grows(values)) throw new Error(`the buckets of ${name} do not grow`)
    if (bounds.at(-1) !== Infinity || values.at(-1) !== total.value) {
      throw new Error(`the last bucket of ${name} does not hold all`)
    }
  }
}

function grows(values: readonly number[]): boolean {
  return values.every((value, at) => at === 0 || value >= (values[at - 1] ?? 0))
}
