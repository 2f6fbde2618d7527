/** A check in the report of `doctor --json`. */
export interface Row {
  readonly id: string
  readonly provider: string | null
  readonly status: string
  readonly detail: string
  readonly fix: string | null
}
