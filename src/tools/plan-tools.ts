import { z } from 'zod'
import { planItem } from '../api/run.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { defineTool } from './define-tool.ts'
import type { Tool, ToolSource } from './tool.ts'

/** The name of the tool that states the plan of a run. */
export const planToolName = 'mcp.plan.set'

const maxItems = 50

/** Creates the tool with which a run states its plan. */
export function createPlanTools(): ToolSource {
  const tools: readonly Tool[] = [
    defineTool(z.strictObject({ items: z.array(planItem).max(maxItems) }), {
      name: planToolName,
      description:
        'Shows the plan of your work to the person. Send all items each time, and at most one that is in_progress. Use it for work of several steps.',
      effect: 'read',
      async run({ items }, { setPlan }) {
        if (setPlan === undefined) {
          throw new ToolError({ kind: 'failed', detail: 'Only a run of the agent has a plan.' })
        }
        setPlan(items)
        return { items }
      },
    }),
  ]
  return { tools: () => tools }
}
