/**
 * What upstream has refused of a model before, so that it is not sent again. Remembered as words without spaces; one
 * refusal can teach several, which share a text.
 */
export interface Lessons {
  /** Values of `anthropic-beta`. */
  readonly betas: ReadonlySet<string>
  /** Keys of the body, as `key-path.ts` reads them. */
  readonly keys: readonly string[]
  /** Values of `type`, by the top-level member they stood below. */
  readonly tags: readonly RefusedTag[]
  /** The levels of effort there are; [] for none. Undefined: nothing was learned. */
  readonly efforts: readonly string[] | undefined
  /** The only way of thinking that is taken. */
  readonly thinking: 'adaptive' | 'budget' | undefined
  /** Thinking cannot be switched off. */
  readonly alwaysThinks: boolean
  /** It does not think where `tool_choice` demands a tool. */
  readonly thinksUnforced: boolean
  readonly refusesSystemMessages: boolean
  /** Tokens. */
  readonly maxTokens: number | undefined
}

export interface RefusedTag {
  readonly member: string
  readonly tag: string
}

/** How each kind of lesson is written; `parseLessons` reads them back. */
export const lesson = {
  beta: (name: string) => `beta:${name}`,
  key: (path: string) => `field:${path}`,
  tag: ({ member, tag }: RefusedTag) => `tag:${member}:${tag}`,
  efforts: (levels: readonly string[]) => `efforts:${levels.join(',')}`,
  thinking: (way: 'adaptive' | 'budget') => `thinking:${way}`,
  alwaysThinks: () => 'thinking:always',
  thinksUnforced: () => 'thinking:unforced',
  systemMessages: () => 'system-messages:no',
  maxTokens: (limit: number) => `max-tokens:${limit}`,
} as const

/** One text for several lessons. */
export function joinLessons(lessons: readonly string[]): string | undefined {
  return lessons.length === 0 ? undefined : lessons.join(' ')
}

/** Words that are not ours are passed over. */
export function parseLessons(texts: ReadonlySet<string>): Lessons {
  const betas = new Set<string>()
  const keys: string[] = []
  const tags: RefusedTag[] = []
  let efforts: readonly string[] | undefined
  let thinking: Lessons['thinking']
  let alwaysThinks = false
  let thinksUnforced = false
  let refusesSystemMessages = false
  let maxTokens: number | undefined
  for (const word of [...texts].flatMap((text) => text.split(' '))) {
    const colon = word.indexOf(':')
    const value = word.slice(colon + 1)
    switch (word.slice(0, colon)) {
      case 'beta':
        betas.add(value)
        break
      case 'field':
        keys.push(value)
        break
      case 'tag': {
        const [member = '', ...tag] = value.split(':')
        tags.push({ member, tag: tag.join(':') })
        break
      }
      case 'efforts':
        efforts = value === '' ? [] : value.split(',')
        break
      case 'thinking':
        if (value === 'adaptive' || value === 'budget') thinking = value
        alwaysThinks ||= value === 'always'
        thinksUnforced ||= value === 'unforced'
        break
      case 'system-messages':
        refusesSystemMessages = true
        break
      case 'max-tokens':
        if (/^[1-9]\d{0,8}$/.test(value)) maxTokens = Number(value)
        break
    }
  }
  return { betas, keys, tags, efforts, thinking, alwaysThinks, thinksUnforced, refusesSystemMessages, maxTokens }
}
