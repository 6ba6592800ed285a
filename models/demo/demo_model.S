// The file's bytes in read-only data, aligned as its tensors are.
    .section .rodata
    .balign 64
    .global inferno_demo_model_begin
    .hidden inferno_demo_model_begin
inferno_demo_model_begin:
    .incbin DEMO_MODEL_FILE
    .global inferno_demo_model_end
    .hidden inferno_demo_model_end
inferno_demo_model_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
