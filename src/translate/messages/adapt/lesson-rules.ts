import { shapeOf, withoutKey } from '../key-path.ts'
import type { Warning } from '../../warning.ts'
import type { Rule } from './rule.ts'

const DETAIL = 'upstream has refused it before'

/** Keys upstream was seen to refuse, whatever they are called. Other lessons show in `Target` and in its habits. */
export const lessonRules: readonly Rule[] = [
  {
    name: 'refused keys left out',
    source: 'messages, unknown fields',
    adapt: ({ body }, { lessons }) => {
      const patch: Record<string, unknown> = {}
      const warnings: Warning[] = []
      for (const path of lessons.keys) {
        const shape = shapeOf(path)
        const member = path.split('.', 1)[0] ?? ''
        if (shape === undefined || !Object.hasOwn(body, member)) continue
        const before = Object.hasOwn(patch, member) ? patch[member] : body[member]
        const after = shape === member ? undefined : withoutKey(before, shape.slice(member.length + 1))
        if (before === after || before === undefined) continue
        patch[member] = after
        warnings.push({ code: 'refused_upstream', field: path, detail: DETAIL })
      }
      return warnings.length === 0 ? undefined : { patch, warnings }
    },
  },
]
