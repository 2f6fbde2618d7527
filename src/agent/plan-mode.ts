import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import type { ParametersSchema } from '../tools/tool.ts'
import { ToolError } from '../workspace/tool-error.ts'

/** Short enough to be shown and recorded whole: a person accepts what they have read. Characters. */
const maxPlan = 60_000

const submission = z.strictObject({
  plan: z
    .string()
    .trim()
    .min(1)
    .max(maxPlan)
    .describe('Markdown: the goal, the files to change and how, the commands that check it, open questions.'),
})

const { $schema: _, ...parameters } = z.toJSONSchema(submission, { io: 'input' })

/** The tool with which a run in the mode `plan` asks the person to accept its plan. No other run and no other caller has it. */
export interface PlanTool {
  readonly name: string
  readonly tool: string
  readonly description: string
  readonly parameters: ParametersSchema
  /** @throws ToolError `invalid_arguments` */
  readonly planOf: (args: unknown) => string
}

export const planTool: PlanTool = {
  name: 'plan_submit',
  tool: 'mcp.plan.submit',
  description:
    'Asks the person to accept your plan. Until they do, changes and commands are refused. Afterwards you have all tools, to carry it out.',
  parameters,
  planOf(args) {
    const checked = checkValue(submission, args)
    if (checked.ok) return checked.value.plan
    const { path, detail } = checked.problem
    throw new ToolError({ kind: 'invalid_arguments', path: path.join('.'), detail: `The argument ${detail}.` })
  },
}

/** Why a run in the mode `plan` changes nothing and runs nothing, for the model. */
export const plansOnly =
  'Nothing was written or run, because this run only plans until the person accepts its plan. Submit the plan with plan_submit.'

export const planAccepted = 'The person has accepted the plan. You have all tools now: carry the plan out.'

export const planRefused =
  'The person has not accepted the plan, so you can still change and run nothing. If they say what they want, revise the plan and submit it again.'
