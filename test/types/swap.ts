/** A type of an SDK's with some members told otherwise. */
export type Swap<Type, With> = Omit<Type, keyof With> & With
