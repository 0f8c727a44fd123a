"""Which of CPython's tests ``run.py`` runs, and which may differ when compiled: why."""

#: Modules that are run where none is named: the language, its objects, what looks at frames, what
#: runs functions. Each Python runs those that it has.
MODULES = """
test_abc test_annotationlib test_array test_asyncgen test_augassign test_baseexception test_bdb
test_binop test_bisect test_bool test_buffer test_builtin test_bytes test_call test_class
test_cmath test_code test_codeop test_collections test_compare test_compile test_complex
test_contains test_context test_contextlib test_contextlib_async test_copy test_copyreg
test_coroutines test_dataclasses test_decimal test_decorators test_defaultdict test_deque
test_descr test_descrtut test_dict test_dictcomps test_dictviews test_dis test_doctest
test_dynamic test_dynamicclassattribute test_enum test_enumerate test_eof test_except_star
test_exception_group test_exception_hierarchy test_exception_variations test_exceptions
test_extcall test_faulthandler test_float test_fnmatch test_format test_fractions test_frame
test_frozendict test_fstring test_funcattrs test_functools test_future_stmt test_gc
test_generator_stop test_generators test_genericalias test_genericclass test_genexps test_global
test_grammar test_graphlib test_hash test_heapq test_index test_inspect test_int
test_int_literal test_io test_isinstance test_iter test_iterlen test_itertools test_json
test_keyword test_keywordonlyarg test_lazy_import test_list test_listcomps test_logging
test_long test_marshal test_math test_math_property test_memoryio test_memoryview test_metaclass
test_module test_monitoring test_named_expressions test_numeric_tower test_opcache test_opcodes
test_operator test_optparse test_ordered_dict test_patma test_pdb test_peepholer
test_pep646_syntax test_pickle test_positional_only_arg test_pow test_pprint test_print
test_profile test_property test_queue test_raise test_random test_range test_re test_reprlib
test_richcmp test_runpy test_scope test_secrets test_set test_setcomps test_shelve test_shlex
test_slice test_sort test_statistics test_str test_string test_string_literals test_strtod
test_struct test_structseq test_subclassinit test_sundry test_super test_symtable test_syntax
test_sys test_sys_setprofile test_sys_settrace test_tempfile test_textwrap test_thread
test_threading test_threading_local test_timeit test_trace test_traceback test_tracemalloc
test_tstring test_tuple test_type_aliases test_type_annotations test_type_cache
test_type_comments test_type_params test_typechecks test_types test_typing test_unary
test_unicode_identifiers test_unittest test_unpack test_unpack_ex test_userdict test_userlist
test_userstring test_warnings test_weakref test_weakset test_with test_yield_from
""".split()  # noqa: SIM905

#: Listed modules that are not run: why.
NOT_RUN: dict[str, str] = {}

COUNTS = "Counts references, objects or reuse of tuples: what is inlined makes others."
FRAMES = (
    "Looks at its own frame: compiled code has temporaries, and a resume function is a frame of "
    "its own with the variables that are still read."
)
LINES = "Looks at lines, positions or bytecode of a frame whose code is residual code."
LIBRARY = (
    "The log handler lies in the folder of the standard library: code of libraries that is given a "
    "record is taken to change nothing that the program reads, so the record waits for the graph. "
    "The same handler in a program's file is called at once."
)

STEPS = (
    "A debugger or a tool sees the frames of residual code, of resume functions and of Ferrodyn's "
    "own Python code, and the calls that they make."
)
SPECIALISED = (
    "Looks for instructions that CPython specialises in a function by running it: the function is "
    "followed symbolically, so its own code does not run."
)

#: Tests that may come to something else when they are compiled, by pattern: why.
EXCLUDED: dict[str, str] = {
    "test_bdb.RunTestCase.test_runeval_step": "The debugger steps into the entry's own frames.",
    "test_coroutines.CoroutineTest.test_for_2": COUNTS,
    "test_descr.ClassPropertiesAndMethods.test_slots": COUNTS,
    "test_dis.BytecodeTests.test_from_traceback_dis": LINES,
    "test_dis.*.test_loop_quicken": LINES,
    "test_dis.TestDisTraceback*.test_distb_*": LINES,
    "test_doctest.test_doctest.test_pdb_set_trace_nested": LINES,
    "test_enumerate.TestReversed.test_bug1229429": COUNTS,
    "test_exceptions.PEP626Tests.test_lineno_after_other_except": LINES,
    "test_exceptions.PEP626Tests.test_lineno_in_try": LINES,
    "test_frame.ClearTest.test_clear_executing": FRAMES,
    "test_frame.FrameLocalsProxyMappingTests.*": FRAMES,
    "test_frame.ReprTest.test_repr": FRAMES,
    "test_frame.TestFrameLocals.*": FRAMES,
    "test_funcattrs.FunctionPropertiesTest.test_set_cell": (
        "A cell variable is a free one of a resume function: where it is empty, reading it raises "
        "NameError and not its subclass UnboundLocalError."
    ),
    "test_gc.GCTests.test_heap_size": COUNTS,
    "test_itertools.TestBasicOps.test_*_tuple_reuse": COUNTS,
    "test_logging.LoggerAdapterTest.test_critical": LIBRARY,
    "test_memoryview.Bytes*.test_getbuffer": COUNTS,
    "test_memoryview.Bytes*.test_getitem": COUNTS,
    "test_memoryview.Bytes*.test_setitem_readonly": COUNTS,
    "test_*memoryio.CBytesIOTest.test_cow_*": COUNTS,
    # One that fails leaves its tool's events on, and the following ones find them.
    "test_monitoring.*": STEPS,
    "test_opcache.TestRacesDoNotCrash.*": SPECIALISED,
    "test_opcache.TestSpecializer.*": SPECIALISED,
    "test_optparse.TestOptionParser.test_refleak": COUNTS,
    "test_pdb.*": STEPS,
    "test_raise.TestTracebackType.test_attrs": FRAMES,
    "test_sys.SysModuleTest.test_getframe": FRAMES,
    "test_sys_settrace.*TraceTestCase.*": STEPS,
    "test_sys_settrace.RaisingTraceFuncTestCase.*": STEPS,
    "test_sys_settrace.TestLinesAfterTraceStarted.*": STEPS,
    "test_sys_settrace.TestSetLocalTrace.*": STEPS,
    "test_sys_settrace.TraceOpcodesTestCase.*": STEPS,
    "test_trace.TestCallers.test_loop_caller_importing": STEPS,
    "test_trace.TestFuncs.*": STEPS,
    "test_trace.TestLineCounts.*": STEPS,
    "test_trace.TestTrace.test_no_source_file": STEPS,
    "test_traceback.*ExcReportingTests.test_KeyboardInterrupt_at_first_line_of_frame": LINES,
    "test_traceback.*SuggestionFormattingTests.test_name_error_suggestions": FRAMES,
    "test_traceback.MiscTracebackCases.test_clear": FRAMES,
    "test_traceback.TestColorizedTraceback.test_colorized_traceback_from_exception_group": FRAMES,
    "test_traceback.TestStack.test_format_locals": FRAMES,
    "test_traceback.TestStack.test_walk_stack": FRAMES,
    "test_traceback.TestTracebackException.test_comparison_params_variations": FRAMES,
    "test_traceback.TestTracebackException.test_print": FRAMES,
    "test_type_cache.TypeCacheWithSpecializationTests.*": SPECIALISED,
}
