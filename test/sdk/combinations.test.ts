import { judge } from './judge.ts'
import { kinds } from './kinds.ts'
import { anthropicMessages } from './speakers/anthropic.ts'
import { openaiChat } from './speakers/openai-chat.ts'
import { openaiResponses } from './speakers/openai-responses.ts'

for (const speaker of [openaiChat, openaiResponses, anthropicMessages]) {
  for (const kind of kinds) judge(speaker, kind)
}
